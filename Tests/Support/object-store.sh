#!/usr/bin/env bash
# An object store for tests that checks signatures as S3 does: Ceph's radosgw over one monitor and one store in memory, on
# 127.0.0.1. Everything is gone when it ends, which it does with SIGTERM.
#
# object-store.sh DIRECTORY PORT ACCESS-KEY SECRET-KEY: DIRECTORY/ready is there once it answers. PORT and the two after it are used; the
# last one speaks TLS, with DIRECTORY/server.pem and its server.key.
set -euo pipefail
directory=$1 port=$2 access_key=$3 secret_key=$4
monitor_port=$((port + 1)) tls_port=$((port + 2))

for program in ceph-mon ceph-osd radosgw radosgw-admin; do
    command -v "$program" >/dev/null || {
        echo "$program is missing: apt-get install --no-install-recommends ceph-common ceph-mon ceph-osd radosgw" >&2
        exit 1
    }
done

# Their contents don't need a graceful shutdown, which takes seconds.
trap 'kill -9 $(jobs -p) 2>/dev/null || true; wait' EXIT
trap 'exit 0' TERM INT

mkdir -p "$directory"/{mon,osd,run,log}
cluster=$(cat /proc/sys/kernel/random/uuid)
export CEPH_CONF=$directory/ceph.conf
# One daemon of each kind and one copy of the data. Without keys (`auth … = none`) radosgw doesn't start.
cat >"$CEPH_CONF" <<END
[global]
fsid = $cluster
mon initial members = a
mon host = [v2:127.0.0.1:$monitor_port/0]
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind ipv6 = false
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
auth allow insecure global id reclaim = false
keyring = $directory/keyring
mon data = $directory/mon
mon data avail crit = 1
mon data avail warn = 1
mon allow pool size one = true
mon warn on pool no redundancy = false
osd data = $directory/osd
osd objectstore = memstore
osd crush chooseleaf type = 0
osd crush update on start = false
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 4
osd pool default pgp num = 4
osd pool default pg autoscale mode = off
memstore device bytes = 1073741824
run dir = $directory/run
admin socket = $directory/run/\$name.asok
pid file = $directory/run/\$name.pid
log file = $directory/log/\$name.log
[client.rgw]
rgw frontends = beast endpoint=127.0.0.1:$port ssl_endpoint=127.0.0.1:$tls_port ssl_certificate=$directory/server.pem ssl_private_key=$directory/server.key
rgw dns name = localhost
END

authority() { ceph-authtool "$directory/keyring" --gen-key "$@" >/dev/null; }
ceph-authtool --create-keyring "$directory/keyring" --gen-key -n mon. --cap mon 'allow *' >/dev/null
authority -n client.admin --cap mon 'allow *' --cap osd 'allow *'
authority -n osd.0 --cap mon 'allow profile osd' --cap osd 'allow *'
authority -n client.rgw --cap mon 'allow rw' --cap osd 'allow rwx'

monmaptool --create --addv a "[v2:127.0.0.1:$monitor_port]" --fsid "$cluster" "$directory/monmap" >/dev/null
ceph-mon --mkfs -i a --monmap "$directory/monmap" --keyring "$directory/keyring"
ceph-mon -f -i a &

store=$(cat /proc/sys/kernel/random/uuid)
ceph osd new "$store" 0 >/dev/null
ceph auth import -i "$directory/keyring"
ceph osd crush add osd.0 1.0 root=default
ceph-osd -i 0 --mkfs --osd-uuid "$store"
ceph-osd -f -i 0 &

until ceph osd stat | grep -q '1 up'; do sleep 0.1; done
radosgw -f -n client.rgw &
until curl -s -o /dev/null "http://127.0.0.1:$port/"; do sleep 0.1; done
radosgw-admin user create --uid=tests --display-name=tests --access-key="$access_key" --secret="$secret_key" >/dev/null
touch "$directory/ready"
wait
