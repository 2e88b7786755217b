"""What transformers computes on a model's weights: what logits of a step are compared with."""

import contextlib
import importlib

import torch

from model import free_memory

SCORES = 1 << 25  # of a head, at a time: those of a long prompt would not fit in memory


def no_init_weights():
    """A context in which transformers draws no weights; versions have it in different places."""
    for place in ("initialization", "modeling_utils"):
        with contextlib.suppress(ImportError, AttributeError):
            return importlib.import_module(f"transformers.{place}").no_init_weights()
    return contextlib.nullcontext()


def transformers_model(model, dtype):
    import transformers
    values = {k: v for k, v in model.config.items() if k != "architectures"}
    kind = model.config["architectures"][0]
    config = getattr(transformers, kind.replace("ForCausalLM", "Config"))(**values)
    config._attn_implementation = "eager"
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    with torch.device("cuda"), no_init_weights():
        theirs = getattr(transformers, kind)(config)
    torch.set_default_dtype(before)
    theirs = theirs.eval()
    q, kv = model.heads * model.head, model.kv * model.head
    with torch.no_grad():
        theirs.model.embed_tokens.weight.copy_(model.plain("embedding"))
        theirs.lm_head.weight.copy_(model.plain("head"))
        theirs.model.norm.weight.copy_(model.weights["attn_norm"][-1])
        for l, layer in enumerate(theirs.model.layers):
            qkv, a, m = model.plain("qkv", l), layer.self_attn, layer.mlp
            for to, rows in ((a.q_proj, qkv[:q]), (a.k_proj, qkv[q:q + kv]), (a.v_proj, qkv[q + kv:]),
                             (a.o_proj, model.plain("o", l)), (m.gate_proj, model.plain("gate", l)),
                             (m.up_proj, model.plain("up", l)), (m.down_proj, model.plain("down", l)),
                             (layer.input_layernorm, model.weights["attn_norm"][l]),
                             (layer.post_attention_layernorm, model.weights["mlp_norm"][l])):
                to.weight.copy_(rows)
            if model.normed:
                a.q_norm.weight.copy_(model.weights["q_norm"][l])
                a.k_norm.weight.copy_(model.weights["k_norm"][l])
    return theirs


def logits_of(theirs, tokens, last):
    """Logits of the last positions, in float32. Tokens are taken so many at a time that their scores fit."""
    chunk = max(1, min(len(tokens), SCORES // len(tokens)))
    past, hidden = None, []
    for at in range(0, len(tokens), chunk):
        out = theirs.model(torch.tensor([tokens[at:at + chunk]], device="cuda"), past_key_values=past, use_cache=True)
        past = out.past_key_values
        hidden.append(out.last_hidden_state[0, -last:])
    return theirs.lm_head(torch.cat(hidden)[-last:]).float()


def all_logits(model, dtype, sequences, last):
    """Nothing of transformers is left on the GPU afterwards: there may be no room for two of its models."""
    theirs = transformers_model(model, dtype)
    with torch.no_grad():
        found = [logits_of(theirs, tokens, n) for tokens, n in zip(sequences, last)]
    theirs.to("meta")  # whoever may still hold the module holds no weights
    del theirs
    free_memory()
    return found


class Expected:
    """Logits of the last positions of sequences in float32, and how far transformers in bf16 is off at each."""

    def __init__(self, model, sequences, last):
        """`last`: of each, how many positions."""
        self.lengths = [len(tokens) for tokens in sequences]
        self.logits = all_logits(model, torch.float32, sequences, last)
        found = all_logits(model, torch.bfloat16, sequences, last)
        self.errors = [(f - want).abs().amax(-1) for f, want in zip(found, self.logits)]
        self.largest = max(e.max().item() for e in self.errors)
        self.tokens = [want.argmax(-1) for want in self.logits]
        # Where the second token is closer than bf16 is exact, another one is no mistake.
        tops = [want.topk(2).values for want in self.logits]
        self.decided = [top[:, 0] - top[:, 1] > 2 * error for top, error in zip(tops, self.errors)]
