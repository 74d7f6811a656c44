# For the scripts of the tables, which source it from the root of the repository: one run for each row and seed.
# A script sets ROWS (name -> options), then calls `choose SEEDS [NAME ...]` and `run_rows FOLDER COMMAND ...`. Options
# that say `--model_name_or_path @NAME` begin with the model of another row and the same seed; such rows run last.
# shellcheck shell=bash disable=SC2034,SC2153 # DATA is for the scripts, ROWS is theirs
DATA=${COMPLEX_TRANSFORMERS_DATA:-../shared/data}
PYTHON=${PYTHON:-.venv/bin/python}
OPTIONS=${OPTIONS:-}
RESULTS=${RESULTS:-benchmarks/results}

# SEEDS (0 or 0,1,2) and NAMES of the command line; without one, the comment at the top of the script.
choose() { # [SEEDS [NAME ...]]
  if [[ $# -eq 0 ]]; then
    sed -n '2,/^set /{/^#/p;}' "$0"
    exit 2
  fi
  IFS=, read -ra SEEDS <<<"$1"
  local name names=("${@:2}") later=()
  [[ $# -gt 1 ]] || names=("${!ROWS[@]}")
  NAMES=()
  for name in "${names[@]}"; do
    [[ -v ROWS[$name] ]] || { echo "no run $name; there are: ${!ROWS[*]}" >&2; exit 2; }
    if [[ ${ROWS[$name]} == *@* ]]; then later+=("$name"); else NAMES+=("$name"); fi
  done
  NAMES+=("${later[@]}")
}

# Where a run keeps its checkpoints and its model.
output_of() { # FOLDER NAME SEED
  local output="outputs/${RESULTS#benchmarks/results}/$1/$2-seed-$3"
  echo "${output//\/\///}"
}

# Results go to RESULTS/FOLDER; a run that has them is left out, one that was stopped goes on from its last checkpoint.
run_rows() { # FOLDER COMMAND ...
  local folder=$1 seed name results options model
  shift
  for seed in "${SEEDS[@]}"; do
    for name in "${NAMES[@]}"; do
      results="$RESULTS/$folder/$name-seed-$seed.json"
      if [[ -e $results ]]; then
        echo "left out, as it has a result: $results"
        continue
      fi
      options=${ROWS[$name]}
      if [[ $options =~ @([^ ]+) ]]; then
        model=$(output_of "$folder" "${BASH_REMATCH[1]}" "$seed")
        options=${options/@"${BASH_REMATCH[1]}"/$model}
        if [[ ! -d $model ]]; then
          echo "$name begins with $model, which is not there: run ${BASH_REMATCH[1]} first, RESULTS=elsewhere" >&2
          exit 2
        fi
      fi
      # shellcheck disable=SC2086 - the options of a row are words
      "$PYTHON" "$@" $options --disable_tqdm true --seed "$seed" --resume_from_checkpoint last \
        --output_dir "$(output_of "$folder" "$name" "$seed")" --output_json "$results" $OPTIONS
    done
  done
}
