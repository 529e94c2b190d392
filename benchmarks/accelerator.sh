#!/usr/bin/env bash
# Everything worth knowing on a GPU, in at most eight minutes.
#
#   benchmarks/accelerator.sh OUT [--smoke] [--only PARTS] [--data DIR]
#       [--flax_examples PATH]
#
# Writes a JSON file for each part into OUT, to be kept under benchmarks/results/, and
# what each part says into OUT/NAME.log. A part that fails or takes too long is named at
# the end and costs only itself. DIR holds Multi30k; without it the built-in corpus is
# trained on. --smoke runs every part with tiny sizes, on any machine. --only runs the
# parts whose names contain PARTS. PYTHON names the interpreter.
set -u
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python}
if [ $# -eq 0 ]; then
  sed -n '2,13s/^# \{0,1\}//p' "$0"
  exit 2
fi
out=$1
shift
smoke=
only=
data=()
flax=()
while [ $# -gt 0 ]; do
  case $1 in
    --smoke) smoke=yes; shift ;;
    --only) only=$2; shift 2 ;;
    --data) data=(--data "$2"); shift 2 ;;
    --flax_examples) flax=(--flax_examples "$2"); shift 2 ;;
    *) echo "accelerator.sh: $1 is not an option; see its first lines" >&2; exit 2 ;;
  esac
done
mkdir -p "$out"
failed=()
begin=$SECONDS
last=480  # Seconds for all parts.
[ -n "$smoke" ] && last=1800

# part NAME SECONDS MODULE ARGUMENTS...: measure, within its time and what is left of all.
part() {
  local name=$1 seconds=$2 module=$3
  shift 3
  [[ $name == *"$only"* ]] || return
  local left=$((last - (SECONDS - begin)))
  [ -n "$smoke" ] && seconds=600
  [ "$seconds" -gt "$left" ] && seconds=$left
  if [ "$seconds" -lt 10 ]; then
    failed+=("$name (no time left)")
    return
  fi
  local start=$SECONDS
  timeout -k 5 "$seconds" "$PYTHON" -m "benchmarks.$module" \
    --output "$out/$name.json" "$@" > "$out/$name.log" 2>&1
  local code=$?
  if [ $code -ne 0 ]; then
    failed+=("$name (code $code, $out/$name.log)")
  fi
  echo "$name: $((SECONDS - start)) s, code $code"
  [ $code -eq 0 ] && grep -v '^preparing' "$out/$name.log" | tail -n 12
}

if [ -n "$smoke" ]; then
  step=(--layers 1 --rows 4 --vocab_size 300 --steps 2 --turns 2)
  search=(--layers 1 --sentences 4 --vocab_size 300 --turns 2)
  begin_run=(--steps 4 --log_every_steps 1 --limit 120)
  small=(--config.model.num_encoder_layers=1 --config.model.num_decoder_layers=1
    --config.model.d_model=16 --config.model.d_ff=16 --config.model.num_heads=2
    --config.data.tokens_per_batch=128 --config.data.max_batch_shapes=2
    --config.data.grammar.num_train_pairs=500 --config.data.vocab_size=500)
  few=4 long=16
else
  step=(--steps 20 --turns 5)
  search=(--turns 5)
  begin_run=(--steps 1000 --log_every_steps 10 --limit 60)
  small=()
  few=48 long=512
fi

# What is worth most comes first: the last parts get what time is left. Contestants are
# prepared one after the other, so that none disturbs the other's autotuning.
part train_base_gpu 170 train --model base "${step[@]}" "${flax[@]}" \
  --prepare_seconds 60 --only torch.compile "Flax's WMT example" "ours, layer by layer"
part start_tiny_gpu 140 start --config configs/multi30k_tiny_long.py "${data[@]}" \
  "${begin_run[@]}" -- "${small[@]}"
part train_big_gpu 140 train --model big "${step[@]}" --prepare_seconds 60 \
  --only torch.compile "ours, layer by layer"
part decode_base_beam4_gpu 60 decode --model base "${search[@]}"
part decode_base_greedy_gpu 45 decode --model base --beam_size 1 "${search[@]}"
# Plain attention against the fused kernel, where sentences are long enough to matter.
for attention in plain fused; do
  part "train_attention_${attention}_gpu" 50 train --model base \
    --attention "$attention" "${step[@]}" --rows "$few" --length "$long" --only
done
part start_base_gpu 140 start --config configs/wmt14_ende_base.py "${begin_run[@]}" -- \
  --config.model.vocab_multiple=37120 --config.data.max_length=256 "${small[@]}"

echo "$((SECONDS - begin)) s in all"
if [ ${#failed[@]} -gt 0 ]; then
  printf 'failed: %s\n' "${failed[@]}"
  exit 1
fi
