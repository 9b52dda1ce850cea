#!/bin/sh
# slurm.sh COMMAND...: a Slurm of one node with four processors (declared, whatever the machine has),
# in a folder of its own, for as long as COMMAND runs in it; then its daemons end. Wants slurmctld,
# slurmd, slurm-client and munge (Debian's), and root. Nothing of the machine's own Slurm is touched.
# Without COMMAND it runs examples/train.sbatch through it (slurm_check.sh).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- sh "$here/slurm_check.sh"
for tool in munged slurmctld slurmd srun; do
    command -v $tool >/dev/null || { echo "slurm.sh: SKIP: there is no $tool (apt-get install slurmctld slurmd munge)" >&2; exit 77; }
done
root=$(mktemp -d /tmp/hpc-slurm-XXXXXX)
host=$(hostname -s)
stop() {
    for name in slurmd slurmctld munged; do
        [ -s "$root/$name.pid" ] && kill "$(cat "$root/$name.pid")" 2>/dev/null
    done
    sleep 1
    rm -rf "$root"
}
trap stop EXIT
trap 'exit 130' INT TERM
chmod 755 "$root"
mkdir -p "$root/state" "$root/spool" "$root/munge"
chmod 700 "$root/munge"
dd if=/dev/urandom of="$root/munge/key" bs=1024 count=1 2>/dev/null
chmod 400 "$root/munge/key"
munged --force --key-file="$root/munge/key" --socket="$root/munge.socket" \
    --pid-file="$root/munged.pid" --log-file="$root/munged.log" --seed-file="$root/munge/seed"
cat >"$root/slurm.conf" <<END
ClusterName=one
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
AuthType=auth/munge
AuthInfo=socket=$root/munge.socket
CryptoType=crypto/munge
SlurmUser=root
StateSaveLocation=$root/state
SlurmdSpoolDir=$root/spool
SlurmctldPidFile=$root/slurmctld.pid
SlurmdPidFile=$root/slurmd.pid
SlurmctldLogFile=$root/slurmctld.log
SlurmdLogFile=$root/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=pmix
JobRequeue=1
NodeName=$host NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP MaxTime=INFINITE
END
export SLURM_CONF="$root/slurm.conf"
slurmctld -c
slurmd -c
for k in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
    sinfo -h -o %t 2>/dev/null | grep -q idle && break
    sleep 1
done
sinfo -h -o %t | grep -q idle || { tail -5 "$root"/slurm*.log >&2; exit 1; }
"$@"
