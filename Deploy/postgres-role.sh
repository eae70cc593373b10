#!/usr/bin/env bash
# Run once by the Postgres image, when its volume is new. Creates the role that the services sign in as, which owns their database
# and is no superuser.
set -euo pipefail
password=$(cat /run/secrets/postgres_password)
psql -v ON_ERROR_STOP=1 -v password="$password" -U "$POSTGRES_USER" -d postgres <<'SQL'
create role partita login password :'password' nosuperuser nocreatedb nocreaterole noreplication;
create database partita owner partita template template0 encoding 'UTF8';
SQL
