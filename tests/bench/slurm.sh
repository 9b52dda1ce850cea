#!/bin/sh
# slurm.sh [COMMAND...]: a Slurm of two nodes, n1 and n2, with two processors each (declared,
# whatever this machine has), both here, for as long as COMMAND runs in it; then its daemons end.
# Without COMMAND: slurm_check.sh, which is examples/train.sbatch on it. Wants slurmctld, slurmd,
# slurm-client and munge (Debian's) and root; the machine's own Slurm is left alone.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- sh "$here/slurm_check.sh"
for tool in munged slurmctld slurmd srun; do
    command -v $tool >/dev/null && continue
    echo "SKIP: there is no $tool (apt-get install slurmctld slurmd slurm-client munge)" >&2
    exit 77
done
root=$(mktemp -d /tmp/hpc-slurm-XXXXXX)
host=$(hostname -s)

# By their own numbers, in the order in which they need each other; they get ten seconds each.
stop() {
    scancel -u "$(id -un)" 2>/dev/null
    for k in 1 2 3 4 5 6 7 8 9 10; do # what is left of jobs
        [ -z "$(squeue -h 2>/dev/null)" ] && break
        sleep 1
    done
    for name in slurmctld slurmd-n1 slurmd-n2 munged; do
        pid=$(cat "$root/$name.pid" 2>/dev/null) || continue
        kill "$pid" 2>/dev/null || continue
        for k in 1 2 3 4 5 6 7 8 9 10; do
            kill -0 "$pid" 2>/dev/null || break
            sleep 1
        done
    done
    rm -rf "$root"
}
trap stop EXIT
trap 'exit 130' INT TERM

chmod 755 "$root"
mkdir -p "$root/state" "$root/spool-n1" "$root/spool-n2" "$root/munge"
chmod 700 "$root/munge"
dd if=/dev/urandom of="$root/munge/key" bs=1024 count=1 2>/dev/null
chmod 400 "$root/munge/key"
munged --force --key-file="$root/munge/key" --socket="$root/munge.socket" \
    --pid-file="$root/munged.pid" --log-file="$root/munged.log" --seed-file="$root/munge/seed"
# A job that is requeued may start again when its credential has expired.
cat >"$root/slurm.conf" <<END
ClusterName=one
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16817
AuthType=auth/munge
AuthInfo=socket=$root/munge.socket,cred_expire=5
CryptoType=crypto/munge
SlurmUser=root
StateSaveLocation=$root/state
SlurmdSpoolDir=$root/spool-%n
TmpFS=$root/tmp-%n
SlurmctldPidFile=$root/slurmctld.pid
SlurmdPidFile=$root/slurmd-%n.pid
SlurmctldLogFile=$root/slurmctld.log
SlurmdLogFile=$root/slurmd-%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=0
MpiDefault=pmix
JobRequeue=1
SchedulerParameters=bf_interval=3,sched_interval=5
KillWait=5
NodeName=n[1-2] NodeHostname=$host NodeAddr=127.0.0.1 Port=[16818-16819] CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP MaxTime=INFINITE
END
export SLURM_CONF="$root/slurm.conf"
slurmctld -c
for node in n1 n2; do # PMIx wants a folder for each, as on two machines
    mkdir -p "$root/tmp-$node"
    TMPDIR=$root/tmp-$node PMIX_SYSTEM_TMPDIR=$root/tmp-$node slurmd -c -N $node
done
for k in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
    [ "$(sinfo -h -N -o '%N %t' 2>/dev/null | grep -c idle)" = 2 ] && break
    sleep 1
done
[ "$(sinfo -h -N -o '%N %t' | grep -c idle)" = 2 ] || { tail -5 "$root"/slurm*.log >&2; exit 1; }
"$@"
