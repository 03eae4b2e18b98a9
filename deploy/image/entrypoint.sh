#!/bin/sh
# The entry point of the image. Arguments:
#   SERVICE               start a service
#   SERVICE migrate       bring the database of a service up to date, and end
#   kr ARGUMENTS          the command-line client
#   kr-admin ARGUMENTS    its commands for operators (`kr admin`), with the keys in /operator
#   backup FOLDER DAYS [OPTIONS]
#                         `kr-admin backup` into a new folder in FOLDER; after it, delete backups there that are older than DAYS
#   check-health [URL...] end with 0 if all URLs answer, by default the readiness of the service in this container
#   sleep                 wait, for `kubectl exec`
set -eu
app=$(dirname "$(readlink -f "$0")")
program=${1:?one of: SERVICE, kr, kr-admin, backup, check-health, sleep}
[ "$(basename "$0")" = kr-admin ] && program=kr-admin || shift

case $program in
  kr) exec node "$app/clients/kr/src/main.ts" "$@" ;;
  kr-admin) exec node "$app/clients/kr/src/main.ts" admin "$@" --data-dir "${OPERATOR_DIR:-/operator}" ;;
  backup)
    folder=$1 days=$2
    shift 2
    "$0" kr-admin backup "$folder/$(date -u +%Y-%m-%dT%H%M%SZ)" "$@"
    exec find "$folder" -mindepth 1 -maxdepth 1 -name '20*Z*' -mtime "+$days" -exec rm -r {} +
    ;;
  check-health) exec node "$app/check-health.mjs" "$@" ;;
  sleep) exec sleep infinity ;;
esac
cd "$app/services/$program"
case ${1:-start} in
  start) exec node --import @kr/telemetry/preload src/main.ts ;;
  migrate) exec node src/migrate.ts ;;
  *) echo "unknown argument: $1" >&2; exit 2 ;;
esac
