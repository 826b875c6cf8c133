#!/usr/bin/env bash
# Runs a job folder on a machine with an H200: pairs, times, and memory traffic under Nsight Compute.
#   bash JOB_FOLDER/on_device.sh JOB_FOLDER RESULTS_FOLDER
set -u
job=$1 out=$2
wanted="dram__bytes_read dram__bytes_write lts__t_sectors_srcunit_tex_op_read lts__t_sectors_srcunit_tex_op_write
  l1tex__m_xbar2l1tex_read_bytes l1tex__m_l1tex2xbar_write_bytes l1tex__t_bytes_pipe_lsu_mem_global_op_ld
  l1tex__t_bytes_pipe_lsu_mem_global_op_st gpu__time_duration"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader >"$out/machine.txt"
ncu --version | tail -1 >>"$out/machine.txt"
export PYTHONUNBUFFERED=1
date +%T
timeout 240 python3 "$job/device_runner.py" "$job" "$out/pairs.json" 2>"$out/pairs.log" || tail -5 "$out/pairs.log"
date +%T
timeout 100 python3 "$job/device_runner.py" "$job" "$out/variants.json" --job variants.json 2>"$out/variants.log" || tail -5 "$out/variants.log"
date +%T
timeout 100 python3 "$job/traffic_runner.py" "$job" --time "$out/times.json" 2>&1 | tail -5
date +%T
timeout 60 python3 "$job/functions_runner.py" "$job" "$out/functions.json" 2>&1 | tail -5
date +%T
ncu --query-metrics --chips gh100 2>/dev/null | awk '{print $1}' >/tmp/metrics
metrics=""
for name in $wanted; do grep -qx "$name" /tmp/metrics && metrics="$metrics,$name.sum" || echo "no $name"; done
date +%T
timeout 220 ncu --csv --page raw --print-units base --clock-control none --metrics "${metrics#,}" \
  python3 "$job/traffic_runner.py" "$job" >"$out/ncu.csv" 2>"$out/ncu.log" || tail -5 "$out/ncu.log" "$out/ncu.csv"
date +%T
