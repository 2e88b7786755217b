#!/usr/bin/env python3
"""What transformers computes for tiny models: the expected results under test/models/golden/.

    for family in llama qwen3; do
        mkdir -p build/golden/$family
        cp test/models/golden/$family/config.json build/golden/$family/
        ./evt weights build/golden/$family --random 1 --force
        python3 bench/peers/golden.py build/golden/$family --seed 1 -o test/models/golden/$family/expected.json
    done

Needs torch, transformers and safetensors, no GPU. The weights are not kept: whoever compares writes them again from the
seed, and the file says by their checksum that they are the same. What the file holds:

    seed, files          of `evt weights --random`; {name of a file: fnv1a64 of its bytes}
    inv_freq             rope's frequencies, in single precision
    requests             each with
      prompt             tokens
      positions, logits  of the prompt's positions that are listed, the logits of the token that follows, computed in f32
                         with attn_implementation="eager"; 6 significant digits
      bf16_error         for every position, the largest |logit - logit in f32| when weights and activations are bf16
      hidden             at the last position: the embedding, the output of each layer but the last, and what the final norm
                         makes of the last one's
      greedy             tokens that follow the prompt if the largest logit is taken each time, and margins, how far the
                         second one is below it; where the margin is less than the error, another token is no mistake
"""

import argparse
import json
import pathlib
import random

LENGTHS = [1, 2, 3, 5, 8, 13, 16, 17, 31, 32, 33, 40]
ALL_POSITIONS = 5  # prompts up to this length list the logits of all positions
GREEDY = 6


def fnv1a64(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def rounded(values, digits=6):
    return [float(f"{value:.{digits}g}") for value in values]


def positions_of(length):
    return list(range(length)) if length <= ALL_POSITIONS else [length // 2, length - 1]


def logits_of(torch, model, tokens, hidden=False):
    with torch.no_grad():
        out = model(torch.tensor([tokens]), use_cache=False, output_hidden_states=hidden)
    logits = out.logits[0].float()
    return (logits, [state[0, -1].float() for state in out.hidden_states]) if hidden else logits


def greedy_of(torch, model, prompt):
    tokens, margins = list(prompt), []
    for _ in range(GREEDY):
        best = torch.topk(logits_of(torch, model, tokens)[-1], 2)
        tokens.append(int(best.indices[0]))
        margins.append(float(best.values[0] - best.values[1]))
    return {"tokens": tokens[len(prompt):], "margins": rounded(margins, 4)}


def sensitivity(torch, model, prompts, reference):
    """How far the logits move if something small is wrong: what the expected results can see."""
    def moved():
        return max(float((logits_of(torch, model, prompt) - logits).abs().max())
                   for prompt, logits in zip(prompts, reference))
    report = {}
    rope = model.model.rotary_emb
    kept = rope.inv_freq.clone()
    rope.inv_freq.copy_(kept * 1.05)
    report["rope frequencies 5 % off"] = moved()
    rope.inv_freq.copy_(kept)
    for part in ("input_layernorm", "post_attention_layernorm", "q_norm", "k_norm"):
        norms = [module for name, module in model.named_modules() if name.endswith(part)]
        weights = [norm.weight.data.clone() for norm in norms]
        for norm in norms:
            norm.weight.data.fill_(1)
        if norms:
            report[f"{part} without its weight"] = moved()
        for norm, weight in zip(norms, weights):
            norm.weight.data.copy_(weight)
    return report


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, help="config.json and what `evt weights --random` wrote beside it")
    parser.add_argument("--seed", type=int, required=True, help="the seed the weights were written with")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    options = parser.parse_args()

    import torch
    import transformers

    torch.manual_seed(0)
    torch.set_num_threads(1)
    config = json.loads((options.folder / "config.json").read_text())

    def load(dtype):
        model, info = transformers.AutoModelForCausalLM.from_pretrained(
            options.folder, torch_dtype=dtype, attn_implementation="eager", output_loading_info=True)
        wrong = {key: value for key, value in info.items() if value and key != "error_msgs" and "tied" not in key}
        assert not wrong, f"transformers does not find the checkpoint complete: {wrong}"
        assert model.dtype == dtype and model.config._attn_implementation == "eager"
        return model.eval()

    exact, narrow = load(torch.float32), load(torch.bfloat16)
    source = random.Random(options.seed)
    prompts = [[source.randrange(config["vocab_size"]) for _ in range(length)] for length in LENGTHS]
    reference = []
    requests = []
    for prompt in prompts:
        logits, hidden = logits_of(torch, exact, prompt, hidden=True)
        error = (logits_of(torch, narrow, prompt) - logits).abs().amax(dim=-1)
        reference.append(logits)
        positions = positions_of(len(prompt))
        requests.append({
            "prompt": prompt,
            "positions": positions,
            "logits": [rounded(logits[position].tolist()) for position in positions],
            "bf16_error": rounded(error.tolist(), 3),
            "hidden": [rounded(state.tolist()) for state in hidden],
            "greedy": greedy_of(torch, exact, prompt),
        })
    result = {
        "made_by": "bench/peers/golden.py",
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "seed": options.seed,
        "files": {path.name: fnv1a64(path.read_bytes()) for path in sorted(options.folder.glob("*.safetensors"))},
        "inv_freq": [float(f"{value:.9g}") for value in exact.model.rotary_emb.inv_freq.tolist()],
        "requests": requests,
    }
    # One line for each request: differences between versions can be read.
    lines = [json.dumps(request, separators=(",", ":")) for request in result.pop("requests")]
    head = json.dumps(result, indent=1)[:-2]
    options.output.write_text(head + ',\n "requests": [\n' + ",\n".join(lines) + "\n ]\n}\n")
    json.loads(options.output.read_text())

    error = max(max(request["bf16_error"]) for request in requests)
    spread = float(torch.cat(reference).std())
    print(f"{options.folder.name}: logits have a standard deviation of {spread:.3g}, bf16 is off by at most {error:.3g}")
    for what, moved in sensitivity(torch, exact, prompts, reference).items():
        print(f"  {what}: {moved:.3g}")


if __name__ == "__main__":
    main()
