# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Spearman's rho printed in Tables 4.5 to 4.7 of the thesis, from Gigaword and Wikipedia."""

from __future__ import annotations

__all__ = ["PRINTED_PHRASES", "PRINTED_WORDS"]

# WordSim-353, SimLex-999.
_WORDS = """
raw .03421 -.0473
probability .31530 .13979
pmi_a .42813 .18239
pmi_b .35153 .21168
pmi_c .38594 .16174
probability amplitude .44581 .22998
npmi_a .47046 .21569
npmi_b .39408 .23467
npmi_c .39702 .17132
npmi_a phases .46913 .21521
npmi_b phases .17549 .08304
npmi_c phases .30796 .12289
topics,50 .18855 .19004
topics,200 .18164 .21271
quantum topics,50 .19819 .20179
quantum topics,200 .18637 .18499
"""
# Compound nouns, adjective and noun, verb and object, subject, verb and object.
_ADDITION = """
raw .36077 .17974 .16809 .07917
probability .21503 .18284 .28605 .03632
pmi_a .40721 .32530 .27142 .09379
pmi_b .36488 .23312 .35151 .20141
pmi_c .37561 .31964 .24611 .15315
probability amplitude .39218 .33889 .37040 .15391
npmi_a .41134 .35581 .29824 .19314
npmi_b .30764 .27678 .37964 .19701
npmi_c .39089 .33133 .25356 .20179
npmi_a phases .41076 .35290 .29784 .19299
npmi_b phases .13381 .09962 .18731 .09017
npmi_c phases .34003 .27044 .25741 .16839
topics,50 .52060 .42080 .36657 .15481
topics,200 .57235 .27311 .34206 .27679
quantum topics,50 .57860 .42313 .41405 .15701
quantum topics,200 .60321 .31530 .38048 .27058
"""
_MULTIPLICATION = """
raw .19044 .21046 .24326 -.09030
probability .12331 -.00601 .16559 -.00890
pmi_a .42101 .39442 .33030 .28821
pmi_b .11449 .26109 .31260 .21638
pmi_c .31189 .31192 .3382 .10721
probability amplitude .17910 .04940 .13845 -.03053
npmi_a .44925 .36386 .31745 .30894
npmi_b .12294 .26838 .31402 .25201
npmi_c .36540 .32566 .35660 .12088
npmi_a phases .44254 .36115 .31173 .30737
npmi_b phases .15310 .15356 .25943 .10894
npmi_c phases .33706 .30690 .30242 .09078
topics,50 .51571 .23729 .16304 .02042
topics,200 .36820 -.01494 .25912 .03226
quantum topics,50 .52973 .24142 .17898 .03236
quantum topics,200 .40309 -.01800 .26000 .01534
"""


def _read(text: str, columns: tuple[str, ...]) -> dict[tuple[str, str], float]:
    """Return (space, column) -> rho; names may contain blanks, figures come last."""
    rows = [line.rsplit(maxsplit=len(columns)) for line in text.strip().split("\n")]
    return {(row[0], name): float(value) for row in rows for name, value in zip(columns, row[1:], strict=True)}


_PHRASES = ("noun-noun", "adjective-noun", "verb-object", "gs2011")
PRINTED_WORDS = _read(_WORDS, ("wordsim", "simlex"))
PRINTED_PHRASES = {"add": _read(_ADDITION, _PHRASES), "multiply": _read(_MULTIPLICATION, _PHRASES)}
