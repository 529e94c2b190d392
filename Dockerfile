# The commands on NVIDIA GPUs. JAX's wheels bring CUDA; the host has to have a driver (525
# or newer) and NVIDIA's container toolkit.
#
# docker build --tag transformer-jax .
# docker run --rm --gpus all --user "$(id -u):$(id -g)" --volume "$PWD:/work" \
#   transformer-jax train --config configs/grammar_tiny.py --workdir runs/grammar
FROM python:3.13.7-slim-bookworm

# What the toolkit reads: which GPUs, and what of the driver.
ENV NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility

WORKDIR /opt/transformer_jax
COPY pyproject.toml setup.cfg README.md LICENSE ./
COPY transformer_jax transformer_jax
RUN pip install --no-cache-dir '.[cuda]' && rm -rf build ./*.egg-info

# Whoever runs it finds a home to keep compiled programs in.
RUN useradd --create-home researcher && chmod 1777 /home/researcher
ENV HOME=/home/researcher
USER researcher
WORKDIR /work
ENTRYPOINT ["transformer-jax"]
CMD ["--help"]
