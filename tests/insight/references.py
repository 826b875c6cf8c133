# ruff: noqa: N803  (arguments have the names of the kernels' parameters)
"""What every kernel of corpora/lowering computes, in plain numpy.

A reference takes the kernel's arguments by their names in launch.toml (buffers as flat arrays of doubles or
integers) and gives its outputs; an output may be shorter than its buffer: the rest is not written.
"""

from __future__ import annotations

import math

import numpy as np

REFERENCES = {}


def reference(*names):
    def keep(function):
        for name in names:
            REFERENCES[name] = function
        return function

    return keep


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def gelu_tanh(v):
    return 0.5 * v * (1 + np.tanh(0.7978845608 * (v + 0.044715 * v**3)))


def elementwise(function, *names):
    @reference(*names)
    def run(x, **_):
        return {"y": function(x)}


@reference("aff_scalar", "aff_nocontract")
def affine(x, a, b, **_):
    return {"y": a * x + b}


@reference("aff_vec")
def affine_vector(x, a, b, **_):
    return {"y": a * x + b}


@reference("aff_product_escapes")
def affine_product(x, a, b, **_):
    return {"y": a * x + b, "p": a * x}


@reference("aff_channel")
def affine_channel(x, g, b, N, C, HW, **_):
    return {"y": (x.reshape(N, C, HW) * g[:, None] + b[:, None]).ravel()}


@reference("aff_saxpy")
def saxpy(x, y, a, **_):
    return {"y": a * x + y}


@reference("aff_horner")
def horner(x, **_):
    return {"y": np.polyval([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], x)}


@reference("argmax_warp")
def argmax_warp(x, rows, n, **_):
    return {"y": x[: rows * n].reshape(rows, n).argmax(axis=1) if n else np.full(rows, -1)}


@reference("argmax_packed")
def argmax_packed(x, warps, **_):
    return {"y": np.abs(x.reshape(warps, 32)).argmax(axis=1) + 32 * np.arange(warps)}


def attention(q, k, v, sc):
    return (softmax(q @ k.T * sc) @ v).ravel()


@reference("attn_naive_mat", "attn_smem_probs", "attn_online_warp")
def attention64(Q, K, V, R, S, sc, **_):
    return {"O": attention(Q.reshape(R, 64), K.reshape(S, 64), V.reshape(S, 64), sc)}


@reference("attn_flash_tile")
def attention32(Q, K, V, R, S, sc, **_):
    return {"O": attention(Q.reshape(R, 32), K.reshape(S, 32), V.reshape(S, 32), sc)}


@reference("br_sum_tree", "br_sum_warp")
def block_sum(x, B, T, **_):
    return {"y": x.reshape(B, T).sum(axis=1)}


@reference("br_sum_tree256")
def block_sum256(x, B, **_):
    return {"y": x.reshape(B, 256).sum(axis=1)}


@reference("br_max_row_sub")
def row_max_sub(x, rows, n, **_):
    x = x.reshape(rows, n)
    return {"y": (x - x.max(axis=1, keepdims=True)).ravel()}


@reference("br_sum_serial2")
def divide_by_sum(x, B, T, **_):
    x = x.reshape(B, T)
    return {"y": (x / x.sum(axis=1, keepdims=True)).ravel()}


@reference("br_any")
def block_any(x, th, B, **_):
    return {"y": (x.reshape(B, 64) > th).any(axis=1).astype(int)}


@reference("br_count")
def block_count(x, th, B, **_):
    return {"y": (x.reshape(B, 64) > th).sum(axis=1)}


@reference("conv3x3_bias_relu")
def convolution(x, w, b, OC, C, H, W, **_):
    x, w = x[: C * H * W].reshape(C, H, W), w[: OC * C * 9].reshape(OC, C, 3, 3)
    x = np.pad(x, ((0, 0), (1, 1), (1, 1)))
    y = sum(
        np.einsum("oc,chw->ohw", w[:, :, i, j], x[:, i : i + H, j : j + W])
        for i in range(3)
        for j in range(3)
    )
    return {"y": np.maximum(y + b[:, None, None], 0).ravel()}


@reference("conv_dw3x3_smem")
def depthwise(x, w, g, b, C, H, W, **_):
    x, w = np.pad(x.reshape(C, H, W), ((0, 0), (1, 1), (1, 1))), w.reshape(C, 3, 3)
    y = sum(w[:, i, j, None, None] * x[:, i : i + H, j : j + W] for i in range(3) for j in range(3))
    return {"y": (y * g[:, None, None] + b[:, None, None]).ravel()}


@reference("xent_warp")
def cross_entropy(x, lab, rows, n, **_):
    x = x.reshape(rows, n)
    m = x.max(axis=1)
    return {"loss": np.log(np.exp(x - m[:, None]).sum(axis=1)) + m - x[np.arange(rows), lab]}


@reference("dc_recurrence")
def recurrence(x, k, **_):
    v = x.astype(np.float32)
    with np.errstate(over="ignore"):
        for _i in range(k):
            v = np.float32(v.astype(np.float64) * v + np.float64(np.float32(0.3)))
    return {"y": v}


@reference("dc_horner_loop")
def horner_loop(x, c, k, **_):
    r = np.zeros_like(x)
    for j in range(k):
        r = r * x + c[j]
    return {"y": r}


@reference("dc_bitonic")
def sort(x, B, **_):
    return {"y": np.sort(x.reshape(B, 32), axis=1).ravel()}


@reference("dc_wht")
def hadamard(x, B, **_):
    h = np.array([[1.0]])
    for _i in range(5):
        h = np.block([[h, h], [h, -h]])
    return {"y": (x.reshape(B, 32) @ h).ravel()}


@reference("dc_rotate")
def rotate(x, B, **_):
    x = x.reshape(B, 32)
    return {"y": (x + np.roll(x, -1, axis=1)).ravel()}


@reference("dc_partial_ladder")
def partial(x, B, **_):
    x = x.reshape(B, 4, 8)
    return {"y": np.broadcast_to(x.sum(axis=1, keepdims=True), x.shape).ravel()}


@reference("dc_fake_ladder")
def fake(x, B, **_):
    x, lane = x.reshape(B, 32), np.arange(32)
    return {"y": sum((x[:, lane ^ d] for d in (16, 8, 4, 2, 1)), x).ravel()}


@reference("dc_smem_stencil")
def shared_stencil(x, B, **_):
    x = np.pad(x.reshape(B, 256), ((0, 0), (1, 1)))
    return {"y": (x[:, :-2] + x[:, 1:-1] + x[:, 2:]).ravel()}


@reference("dc_lcg")
def lcg(x, k, **_):
    v = x.astype(np.uint32)
    for _i in range(k):
        v = v * np.uint32(1664525) + np.uint32(1013904223)
    return {"y": v}


@reference("dc_bcast_input")
def minus_first(x, B, **_):
    x = x.reshape(B, 32)
    return {"y": (x - x[:, :1]).ravel()}


@reference("dc_intdiv")
def integer_division(d, n, **_):
    i = np.arange(n)
    q = np.trunc(i / d).astype(int)
    return {"y": q + (i - q * d)}


@reference("dc_store_then_load_other")
def two_arrays(x, z, **_):
    return {"y": 2 * x, "w": z + 1}


@reference("dc_chase")
def chase(nx, k, n, **_):
    p = np.arange(n)
    for _i in range(k):
        p = nx[p]
    return {"y": p}


@reference("dot_thread", "dot_dp4a_words")
def dot(a, b, **_):
    return {"o": np.array([a @ b])}


@reference("dot_f4")
def dot_f4(a, b, **_):
    return {"o": np.array([a @ b])}


@reference("dot_warp")
def dot_rows(a, b, W, **_):
    return {"o": (a * b).reshape(W, -1).sum(axis=1)}


@reference("dot_block_atomic")
def dot_added(a, b, o, **_):
    return {"o": o + a @ b}


@reference("dot_dp4a")
def dot_bytes(a, b, **_):
    a, b = (v.astype(np.uint32).view(np.int8).astype(np.int64) for v in (a, b))
    return {"o": np.array([a @ b]).astype(np.int32)}


@reference("dot_half2")
def dot_half(a, b, B, **_):
    a, b = (v.reshape(B, -1, 32, 2).astype(np.float64) if v.size // B % 64 == 0 else v for v in (a, b))
    if a.ndim == 1:
        return {"o": half_dot_rows(a.reshape(B, -1), b.reshape(B, -1))}
    return {"o": half_dot_rows(a.reshape(B, -1), b.reshape(B, -1))}


def half_dot_rows(a, b):
    """Each lane accumulates its pairs in halves, then 32-bit floats are added."""
    rows, pairs = a.shape[0], a.shape[1] // 2
    a, b = a.reshape(rows, pairs, 2), b.reshape(rows, pairs, 2)
    total = np.zeros((rows, 32, 2))
    for start in range(0, pairs, 32):
        stop = min(start + 32, pairs)
        here = slice(0, stop - start)
        total[:, here] = np.float16(total[:, here] + a[:, start:stop] * b[:, start:stop])
    return total.sum(axis=(1, 2))


elementwise(
    lambda x: np.maximum(x, 0), "ew_relu", "ew_relu_select", "ew_relu_f4", "ewh_relu", "ewh_relu_bf16"
)
elementwise(lambda x: np.clip(x, 0, 1), "ew_clamp01")
elementwise(lambda x: 1 / (1 + np.exp(-x)), "ew_sigmoid", "ew_sigmoid_fast")
elementwise(lambda x: x / (1 + np.exp(-x)), "ew_silu")
elementwise(gelu_tanh, "ew_gelu_tanh")
elementwise(lambda x: 0.5 * x * (1 + np.vectorize(math.erf)(x * 0.70710678)), "ew_gelu_erf")
elementwise(np.sin, "ew_sin")
elementwise(np.exp, "dc_exp")
elementwise(
    lambda x: 2 * x + 1,
    *["rt_barrier_own", "rt_volatile", "rt_two_loops", "rt_fence", "rt_syncwarp", "rt_smem_nosync"],
)
elementwise(lambda x: 2 * x + 1, "rt_smem_sync", "rt_overwrite", "rt_fused")
elementwise(lambda x: x, "copy_shared")
elementwise(lambda x: x[::-1], "reverse1d")


@reference("ew_leaky")
def leaky(x, a, **_):
    return {"y": np.where(x > 0, x, a * x)}


@reference("ew_clamp")
def clamp(x, lo, hi, **_):
    return {"y": np.minimum(np.maximum(x, lo), hi)}


@reference("ew_scale", "ew_scale_gs")
def scale(x, a, **_):
    return {"y": a * x}


@reference("ewh_scale_mixed8")
def scale_half(x, a, **_):
    return {"y": np.float16(a * x)}


@reference("ewh_axpb")
def affine_half(x, a, b, **_):
    return {"y": np.float16(x.reshape(-1, 2) * a + b).ravel()}


@reference("ew_divs", "ew_fdividef")
def divide(x, s, **_):
    return {"y": x / s}


@reference("gr_consume")
def divide_by_first(x, s, **_):
    return {"y": x / s[0]}


@reference("ew_bias", "ew_bias_mod")
def bias(x, b, m, **_):
    return {"y": x + b[np.arange(x.size) % m]}


@reference("ew_residual_relu")
def residual(x, r, **_):
    return {"y": np.maximum(x + r, 0)}


@reference("ew_bias_gelu_res")
def bias_gelu(x, b, r, m, **_):
    return {"y": gelu_tanh(x + b[np.arange(x.size) % m]) + r}


@reference("embed_gather")
def gather(E, tok, D4, **_):
    return {"y": E.reshape(-1, 4 * D4)[tok].ravel()}


@reference("embed_scatter_add")
def scatter_add(dy, tok, dE, D, **_):
    table = dE.reshape(-1, D).copy()
    np.add.at(table, tok, dy.reshape(-1, D))
    return {"dE": table.ravel()}


@reference("scatter_perm")
def scatter(x, p, **_):
    y = np.empty_like(x)
    y[p] = x
    return {"y": y}


@reference("gemm_naive", "gemm_tiled16", "gemm_cpasync", "gemm_wmma")
def gemm(A, B, M, N, K, **_):
    return {"C": (A[: M * K].reshape(M, K) @ B[: K * N].reshape(K, N)).ravel()}


@reference("gemm_tiled16_bias_relu")
def gemm_bias_relu(A, B, bias, M, N, K, **_):
    return {"C": np.maximum(A.reshape(M, K) @ B.reshape(K, N) + bias, 0).ravel()}


@reference("gemm_reg4x4")
def gemm_alpha_beta(A, B, C, M, N, K, alpha, beta, **_):
    return {"C": (alpha * (A[: M * K].reshape(M, K) @ B[: K * N].reshape(K, N))).ravel() + beta * C}


@reference("gemv_warp_bias_silu")
def gemv(W, x, b, R, K, **_):
    v = W.reshape(R, K) @ x + b
    return {"y": v / (1 + np.exp(-v))}


@reference("gr_pass1")
def partial_sums(x, G, **_):
    rows = np.zeros((-(-x.size // (64 * G)), G, 64))
    rows.ravel()[: x.size] = x
    return {"o": rows.sum(axis=(0, 2))}


@reference("gr_pass2", "gr_lastblock")
def total(x, **_):
    return {"o": np.array([x.sum()])}


@reference("gr_atomic_thread", "gr_atomic_int")
def added(x, o, **_):
    return {"o": o + x.sum(keepdims=True, dtype=o.dtype)}


@reference("gr_atomic_imax")
def maximum(x, o, **_):
    return {"o": np.array([max(o[0], x.max())])}


@reference("gr_cas_fmax")
def float_maximum(x, **_):
    return {"o": np.array([max(x.max(), 0)], np.float32).view(np.int32)}


@reference("hist_global", "hist_shared")
def histogram(x, h, **_):
    return {"h": h + np.bincount(x, minlength=256).astype(np.uint32)}


@reference("tr_naive", "tr_shared", "tr_padded")
def transpose(x, R, C, **_):
    return {"y": x.reshape(R, C).T.ravel()}


@reference("tr_padded_relu")
def transpose_relu(x, R, C, **_):
    return {"y": np.maximum(x.reshape(R, C).T, 0).ravel()}


@reference("nchw2nhwc")
def channels_last(x, N, C, HW, **_):
    return {"y": x.reshape(N, C, HW).transpose(0, 2, 1).ravel()}


@reference("ln_twopass", "ln_onepass_warp")
def layer_norm(x, g, b, n, eps, **_):
    x = x.reshape(-1, n)
    return {"y": ((x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + eps) * g + b).ravel()}


@reference("ln_welford_warp")
def layer_norm_plain(x, n, eps, **_):
    x = x.reshape(-1, n)
    return {"y": ((x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + eps)).ravel()}


@reference("rms_warp")
def rms(x, g, n, eps, **_):
    x = x.reshape(-1, n)
    return {"y": (x / np.sqrt((x * x).mean(1, keepdims=True) + eps) * g).ravel()}


@reference("rms_residual_block")
def rms_residual(x, res, g, n, eps, **_):
    h = (x + res).reshape(-1, n)
    return {"h": h.ravel(), "y": (h / np.sqrt((h * h).mean(1, keepdims=True) + eps) * g).ravel()}


@reference("rms_residual_reg128")
def rms_residual_128(x, res, g, eps, **_):
    h = (x + res).reshape(-1, 128)
    return {"y": (h / np.sqrt((h * h).mean(1, keepdims=True) + eps) * g).ravel()}


@reference("bn_infer")
def batch_norm(x, mu, var, g, b, N, C, HW, eps, **_):
    mu, var, g, b = (v[:, None] for v in (mu, var, g, b))
    return {"y": ((x.reshape(N, C, HW) - mu) / np.sqrt(var + eps) * g + b).ravel()}


@reference("rope_table")
def rope_table(x, cs, sn, **_):
    pairs = x.reshape(-1, 2)
    return {
        "y": np.stack([pairs[:, 0] * cs - pairs[:, 1] * sn, pairs[:, 0] * sn + pairs[:, 1] * cs], 1).ravel()
    }


@reference("rope_fast")
def rope_fast(x, P, H, **_):
    angle = np.arange(P)[:, None] * np.exp2(-13.2877 * np.arange(H) / H)
    x = x.reshape(P, 2, H)
    c, s = np.cos(angle), np.sin(angle)
    return {"y": np.stack([x[:, 0] * c - x[:, 1] * s, x[:, 0] * s + x[:, 1] * c], 1).ravel()}


@reference("rt_same_addr", "rt_same_addr_restrict")
def two_stage(x, **_):
    return {"T": 2 * x, "y": 2 * x + 1}


@reference("rt_barrier_other")
def next_element(x, **_):
    return {"y": np.roll((2 * x + 1).reshape(-1, 64), -1, axis=1).ravel()}


@reference("rt_alias_between")
def alias_between(x, **_):
    return {"T": 2 * x, "U": 3 * x, "y": 5 * x}


@reference("rt_local")
def local_array(x, k, n, **_):
    x = x.reshape(n, 16)
    i = np.arange(n)
    return {"y": x[i, k[:n] & 15] + x[i, k[n:] & 15]}


@reference("rt_reload_alias", "rt_reload_restrict")
def two_outputs(x, **_):
    return {"y": 2 * x, "z": 3 * x}


@reference("scan_warp")
def scan_warp(x, B, **_):
    return {"y": np.cumsum(x.reshape(B, 32), axis=1).ravel()}


@reference("scan_block", "scan_hs_smem")
def scan_block(x, B, T, **_):
    return {"y": np.cumsum(x.reshape(B, T), axis=1).ravel()}


@reference("sm_block_mat", "sm_block_recompute", "sm_online_warp", "sm_thread_row", "sm_block_smem_row")
def softmax_rows(x, n, **_):
    return {"y": softmax(x.reshape(-1, n)).ravel()}


@reference("sm_warp_row128")
def softmax_128(x, **_):
    return {"y": softmax(x.reshape(-1, 128)).ravel()}


@reference("sm_k1_max")
def row_max(x, n, **_):
    return {"mx": x.reshape(-1, n).max(axis=1)}


@reference("sm_k2_exp")
def row_exp(x, mx, n, **_):
    return {"e": np.exp(x.reshape(-1, n) - mx[:, None]).ravel()}


@reference("stencil3")
def stencil(x, **_):
    return {"y": np.concatenate([[np.nan], 0.25 * x[:-2] + 0.5 * x[1:-1] + 0.25 * x[2:]])}


@reference("topk4_thread")
def top_four(x, rows, n, **_):
    if not n:
        return {"y": np.full(4 * rows, np.float32(-3.4e38))}
    return {"y": -np.sort(-x.reshape(-1, n), axis=1)[:, :4].ravel()}


def warp(function, *names):
    @reference(*names)
    def run(x, B, **_):
        x = x.reshape(B, -1)
        return {"y": np.broadcast_to(function(x), x.shape).ravel()}


warp(
    lambda x: x.sum(1, keepdims=True),
    *["wr_sum_xor", "wr_sum_xor_up", "wr_sum_rolled", "wr_sum_paramwidth", "wr_dsum_xor"],
)
warp(lambda x: x.astype(np.int32).sum(1, keepdims=True, dtype=np.int32), "wr_isum_xor", "wr_isum_redux")
warp(lambda x: x.max(1, keepdims=True), "wr_imax_xor", "wr_imax_redux", "wr_fmax_redux")
warp(lambda x: x / x.sum(1, keepdims=True), "wr_sum_down_bcast")
warp(lambda x: x - x.max(1, keepdims=True), "wr_max_xor")
warp(lambda x: (x**2).sum(1, keepdims=True) - x.sum(1, keepdims=True) ** 2, "wr_sum_sumsq")
warp(lambda x: x.prod(1, keepdims=True), "wr_prod_xor")


@reference("wr_min_down")
def warp_min(x, B, **_):
    return {"y": x.reshape(B, 32).min(axis=1)}


@reference("wr_sum_w8")
def warp_sum8(x, **_):
    x = x.reshape(-1, 8)
    return {"y": np.broadcast_to(x.sum(1, keepdims=True), x.shape).ravel()}


@reference("wr_sum_w16_down")
def warp_sum16(x, **_):
    return {"y": x.reshape(-1, 16).sum(axis=1)}


@reference("wr_hsum2_xor")
def half_sum(x, B, **_):
    pairs = np.float16(x.reshape(B, 32, 2))
    lane = np.arange(32)
    for d in (16, 8, 4, 2, 1):
        pairs = np.float16(pairs + pairs[:, lane ^ d])
    return {"y": pairs.astype(float).ravel()}


@reference("wr_hmax2_xor")
def half_max(x, B, **_):
    x = x.reshape(B, 32, 2)
    return {"y": np.broadcast_to(x.max(axis=1, keepdims=True), x.shape).ravel()}
