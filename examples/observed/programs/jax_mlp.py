"""A JAX function whose command buffer is a CUDA graph. Knows nothing of sigcontract. Needs JAX for CUDA and a GPU.

``python -m examples.observed.programs.jax_mlp [EPSILON]``
"""

import os
import sys

WIDTH = 512


def main() -> None:
    """Compile, run, print."""
    # By default XLA makes no graph of fewer than five commands.
    os.environ.setdefault("XLA_FLAGS", "--xla_gpu_graph_min_graph_size=1")
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415  reads both variables; not installed where types are checked

    epsilon = float(sys.argv[1]) if len(sys.argv) > 1 else 1e-5

    @jax.jit  # type: ignore[untyped-decorator,unused-ignore]  # JAX is not installed where types are checked
    def block(hidden: jax.Array, up: jax.Array, down: jax.Array) -> jax.Array:
        mean = hidden.mean(axis=-1, keepdims=True)
        normed = (hidden - mean) * jax.lax.rsqrt(hidden.var(axis=-1, keepdims=True) + epsilon)
        return hidden + jax.nn.gelu(normed @ up) @ down

    keys = jax.random.split(jax.random.key(0), 3)
    hidden = jax.random.normal(keys[0], (8, WIDTH), jax.numpy.bfloat16)
    up = jax.random.normal(keys[1], (WIDTH, 4 * WIDTH), jax.numpy.bfloat16) / WIDTH
    down = jax.random.normal(keys[2], (4 * WIDTH, WIDTH), jax.numpy.bfloat16) / WIDTH
    for _ in range(4):
        hidden = block(hidden, up, down)
    print(float(hidden.sum()))


if __name__ == "__main__":
    main()
