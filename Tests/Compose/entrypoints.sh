#!/usr/bin/env bash
# What the official images do at their start, as far as Deploy/compose.yaml relies on it.
set -euo pipefail
image=$1
shift
case $image in
nginx)
    # docker-entrypoint.d/15-local-resolvers.envsh and 20-envsubst-on-templates.sh
    NGINX_LOCAL_RESOLVERS=$(awk '$1 == "nameserver" {print $2}' /etc/resolv.conf | paste -sd' ')
    export NGINX_LOCAL_RESOLVERS
    for file in /docker-entrypoint.d/*.envsh; do [ -x "$file" ] && . "$file"; done
    names=$(env | sed -n 's/=.*//p' | grep -E "${NGINX_ENVSUBST_FILTER:-}" | sed 's/.*/${&}/' | paste -sd' ')
    for template in /etc/nginx/templates/*.template; do
        envsubst "$names" <"$template" >"${NGINX_ENVSUBST_OUTPUT_DIR:-/etc/nginx/conf.d}/$(basename "$template" .template)"
    done
    exec "$@"
    ;;
postgres)
    if [ ! -s "$PGDATA/PG_VERSION" ]; then
        initdb -E UTF8 --locale=C.UTF-8 -U "${POSTGRES_USER:-postgres}" --pwfile="$POSTGRES_PASSWORD_FILE" -A scram-sha-256 --auth-local trust >/dev/null
        echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
        pg_ctl -w -o "-c listen_addresses= -k /var/run/postgresql" start >/dev/null
        export PGHOST=/var/run/postgresql
        for file in /docker-entrypoint-initdb.d/*.sh; do bash "$file"; done
        pg_ctl -m fast -w stop >/dev/null
    fi
    exec "$@" -c listen_addresses='*'
    ;;
redis) exec "$@" ;;
kafka)
    cp -r /opt/kafka/config.default/. /opt/kafka/config
    file=/opt/kafka/config/server.properties
    env | sed -n 's/^KAFKA_\([A-Z_]*\)=/\1=/p' | grep -vE '^(HEAP_OPTS|HOME)=' | while IFS='=' read -r name value; do
        echo "$(tr 'A-Z_' 'a-z.' <<<"$name")=$value"
    done >"$file"
    /opt/kafka/bin/kafka-storage.sh format --ignore-formatted -t "${CLUSTER_ID:-5L6g3nShT-eMCtK--X86sw}" -c "$file" >/dev/null
    export KAFKA_LOG4J_OPTS="-Dlog4j2.configurationFile=/opt/kafka/config/log4j2.properties"
    exec /opt/kafka/bin/kafka-server-start.sh "$file"
    ;;
esac
