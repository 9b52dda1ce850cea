#!/bin/sh
# llama_server.sh [PATH [TEXT_MODEL]]: llama.cpp's tests of its server, run against `hpccoder serve`.
#
# PATH is llama.cpp's tools/server/tests; PyPI's source package of llama-cpp-python has it. The tests
# below depend on no particular model: the pilot stands for all of them. Those of logit_bias assume
# that a vocabulary has words with their space, so they need a TEXT_MODEL, such as SmolLM2 as GGUF.
#
# Not in the list: tests that expect the text or the token numbers of stories260K or of its template,
# tools, embeddings, images, the web page, CORS, and the number of batches of a prompt: this server
# cuts prompts by time. It answers foreign origins with 403. Chats use a short template.
#
# HPCCODER  the program (build/release/hpccoder)
# PYTHON    an interpreter with pytest, filelock, openai, prometheus_client, requests and wget
# PORT      (18080)
set -u

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
tests=${1:-} text_model=${2:-}
HPCCODER=${HPCCODER:-$root/build/release/hpccoder}
PYTHON=${PYTHON:-python3}
PORT=${PORT:-18080}

skip() {
    echo "SKIP: $*"
    exit 0
}
[ -n "$tests" ] || skip "no path of llama.cpp's tools/server/tests was given"
[ -f "$tests/conftest.py" ] || skip "$tests has no conftest.py"
"$PYTHON" -c 'import filelock, openai, prometheus_client, pytest, requests, wget' 2>/dev/null ||
    skip "$PYTHON lacks pytest, filelock, openai, prometheus_client, requests or wget"

folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
cp -r "$tests/." "$folder/tests" || exit 1
cd "$folder/tests" || exit 1
HPCCODER_MODEL=$root/share/pilot.gguf
HPCCODER_FOLDER=$folder
LLAMA_SERVER_BIN_PATH=$here/llama_server_shim
export HPCCODER HPCCODER_MODEL HPCCODER_FOLDER LLAMA_SERVER_BIN_PATH PORT

basic='test_server_start_simple test_server_models test_server_slots
test_server_model_aliases_and_tags'
completion='test_completion_stream_vs_non_stream test_consistent_result_same_seed
test_different_result_different_seed test_consistent_result_different_batch_size
test_nocache_long_input_prompt test_json_prompt_no_mtmd test_json_prompt_mtm_error_when_not_supported
test_completion_with_tokens_input test_completion_parallel_slots test_n_probs test_n_probs_stream
test_cancel_request'
infill=test_invalid_input_extra_req
tokenize='test_tokenize_detokenize test_tokenize_with_pieces'
security='test_access_public_endpoint test_incorrect_api_key test_correct_api_key
test_correct_api_key_anthropic_header'
metrics='test_metrics_disabled test_metrics_prometheus_format
test_metrics_prompt_processed_and_cached test_metrics_predicted_total_matches_requests
test_metrics_generation_rate_excludes_first_token test_metrics_timings_are_finite
test_metrics_timings_on_prompt_progress test_metrics_slots_idle_after_completion'
ignore_eos='test_ignore_eos_populates_logit_bias test_ignore_eos_false_no_logit_bias'

chat='test_completion_with_response_format test_completion_with_json_schema
test_completion_with_grammar test_completion_with_invalid_grammar test_invalid_chat_completion_req
test_chat_completion_with_timings_per_token test_logprobs test_logprobs_stream test_logit_bias
test_context_size_exceeded test_context_size_exceeded_stream
test_chat_completions_multiple_choices test_chat_completions_token_count'
cat >"$folder/chat.jinja" <<'END'
{% for m in messages %}<|{{ m.role }}|>
{{ m.content }}
{% endfor %}{% if add_generation_prompt %}<|assistant|>
{% endif %}
END

ids() { # file, names
    for name in $2; do echo "unit/test_$1.py::$name"; done
}

# Prints a line for each test; the log has the rest.
run() { # ids
    # Names have no blanks: the list is split on purpose.
    # shellcheck disable=SC2086
    "$PYTHON" -m pytest -v --tb=short -p no:cacheprovider $1 >>"$folder/log" 2>&1
    grep -E '^unit/.* (PASSED|FAILED|ERROR|SKIPPED)' "$folder/log" | sed 's/  *\[ *[0-9]*%\]$//' \
        >"$folder/verdicts"
}

run "$(ids basic "$basic") $(ids completion "$completion") $(ids infill "$infill")
$(ids tokenize "$tokenize") $(ids security "$security") $(ids metrics "$metrics")
$(ids ignore_eos "$ignore_eos") $(ids chat_completion "$chat")"
if [ -n "$text_model" ]; then
    HPCCODER_MODEL=$text_model run "$(ids completion 'test_logit_bias test_completion_unified')"
else
    echo "SKIP: test_logit_bias, test_completion_unified: no text model was given"
fi

cat "$folder/verdicts"
passed=$(grep -c PASSED "$folder/verdicts")
failed=$(grep -cE 'FAILED|ERROR' "$folder/verdicts")
if [ "$failed" != 0 ] || [ "$passed" = 0 ]; then tail -n 60 "$folder/log"; fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
