"""A model's step as PyTorch runs it: cuBLAS, its attention and element-wise kernels, captured in a CUDA graph.

    peer = Peer(model)                        # of bench/step/model.py
    replay = peer.new_tokens(8, 1024)         # 8 requests with 1024 positions each
    replay()                                  # a step; compiled: peer.new_tokens(8, 1024, "max-autotune-no-cudagraphs")

What is compiled is one layer, for all of them, and what follows the last: weights and cache of a layer are arguments. Its kernels
are captured as PyTorch's own ones are.
"""

import torch
import torch.nn.functional as F

SPARE = 16  # positions that the cache has room for, and that no request has yet


def norm(x, weights):
    return F.rms_norm(x, x.shape[-1:], weights, 1e-6)


def rotated(x, cos, sin):
    low, high = x.chunk(2, -1)
    return x * cos + torch.cat((-high, low), -1) * sin


def projected(x, cos, sin, qkv, heads, attn_norm, head_norms):
    """Queries, keys and values: (token, head, column)."""
    y = F.linear(norm(x, attn_norm), qkv).view(x.shape[0], -1, cos.shape[-1])
    kv = (y.shape[1] - heads) // 2
    q, k, v = y.split((heads, kv, kv), 1)
    if head_norms:
        q, k = norm(q, head_norms[0]), norm(k, head_norms[1])
    return rotated(q, cos, sin), rotated(k, cos, sin), v


def behind_attention(x, attention, o, gate_up, down, mlp_norm):
    x = x + F.linear(attention.reshape(x.shape[0], -1), o)
    gate, up = F.linear(norm(x, mlp_norm), gate_up).chunk(2, -1)
    return x + F.linear(F.silu(gate) * up, down)


def new_tokens_layer(x, cos, sin, keys, values, rows, position, mask, qkv, o, gate_up, down, attn_norm, mlp_norm, *head_norms):
    """A new token of each request, over its row of the cache."""
    q, k, v = projected(x, cos, sin, qkv, o.shape[1] // cos.shape[-1], attn_norm, head_norms)
    keys[rows, :, position] = k
    values[rows, :, position] = v
    attention = F.scaled_dot_product_attention(q[:, :, None], keys, values, attn_mask=mask, enable_gqa=True)
    return behind_attention(x, attention, o, gate_up, down, mlp_norm)


def prompt_layer(x, cos, sin, keys, values, qkv, o, gate_up, down, attn_norm, mlp_norm, *head_norms):
    """All tokens of one prompt."""
    q, k, v = projected(x, cos, sin, qkv, o.shape[1] // cos.shape[-1], attn_norm, head_norms)
    keys.copy_(k)
    values.copy_(v)
    q, k, v = (t.transpose(0, 1)[None] for t in (q, k, v))
    attention = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    return behind_attention(x, attention[0].transpose(0, 1), o, gate_up, down, mlp_norm)


def chosen(x, last_norm, head):
    """The most likely token of each."""
    return F.linear(norm(x, last_norm), head).argmax(-1)


class Replay:
    """A step in a CUDA graph."""

    def __init__(self, step):
        self.step = step  # holds the tensors that the graph uses
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream), torch.no_grad():
            for _ in range(2):  # the first one compiles, and chooses kernels
                step()
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph), torch.no_grad():
            step()

    def __call__(self):
        self.graph.replay()


class Peer:
    """Has weights of its own, in the layout that PyTorch multiplies."""

    def __init__(self, model):
        self.model = model
        names = ("attn_norm", "mlp_norm", "q_norm", "k_norm") if model.normed else ("attn_norm", "mlp_norm")
        norms = {name: model.weights[name].bfloat16() for name in names}
        self.embedding, self.head, self.last_norm = model.plain("embedding"), model.plain("head"), norms["attn_norm"][-1]
        self.layers = [(model.plain("qkv", l), model.plain("o", l), torch.cat((model.plain("gate", l), model.plain("up", l))),
                        model.plain("down", l), *(weights[l] for weights in norms.values())) for l in range(model.layers)]

    @staticmethod
    def needed(model, batch, context):
        """Bytes of its weights and of the cache for new tokens."""
        return model.bytes + 2 * 2 * batch * (context + SPARE) * model.layers * model.kv * model.head

    def angles(self, count):
        angle = torch.arange(count, device="cuda").float()[:, None] * self.model.weights["frequencies"]
        return (torch.cat((f(angle), f(angle)), -1).bfloat16()[:, None] for f in (torch.cos, torch.sin))

    def cache(self, *shape):
        """A tensor for each layer; the same numbers in all of them, since a large cache takes long to fill with others."""
        first = torch.randn(shape, device="cuda", dtype=torch.bfloat16)
        return [first, *(first.clone() for _ in self.layers[1:])]

    def new_tokens(self, batch, context, mode=None):
        """`mode`: of torch.compile; none leaves it as it is."""
        m, room = self.model, context + SPARE
        keys, values = (self.cache(batch, m.kv, room, m.head) for _ in range(2))
        tokens, position = torch.arange(batch, device="cuda"), torch.full((batch,), context - 1, device="cuda")
        mask = (torch.arange(room, device="cuda") < context).expand(batch, 1, 1, room).contiguous()
        all_cos, all_sin = self.angles(room)
        layer, tail = new_tokens_layer, chosen
        if mode:
            torch.compiler.reset()  # it compiles a function for a few shapes only
            layer, tail = (torch.compile(f, mode=mode, dynamic=False, fullgraph=True) for f in (layer, tail))

        def step():
            x, cos, sin = self.embedding[tokens], all_cos[position], all_sin[position]
            for weights, k, v in zip(self.layers, keys, values):
                x = layer(x, cos, sin, k, v, tokens, position, mask, *weights)
            return tail(x, self.last_norm, self.head)

        return Replay(step)

    def prompt(self, count):
        """One prompt, the most likely token after its last."""
        m = self.model
        tokens = torch.arange(count, device="cuda") % m.vocabulary
        keys, values = (self.cache(count, m.kv, m.head) for _ in range(2))
        cos, sin = self.angles(count)

        def step():
            x = self.embedding[tokens]
            for weights, k, v in zip(self.layers, keys, values):
                x = prompt_layer(x, cos, sin, k, v, *weights)
            return chosen(x[-1:], self.last_norm, self.head)

        return Replay(step)
