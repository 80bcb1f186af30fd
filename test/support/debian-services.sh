#!/usr/bin/env bash
# Runs a command beside PostgreSQL 17 with pgvector and Redis 8 with vector sets. Both come from Debian 13 packages that
# are unpacked into FOLDER; nothing is installed. The exported URLs make the suites of both stores use these servers.
#
#   test/support/debian-services.sh /tmp/debian13 npx vitest run --project integration pgvector.test redis-vector-set
#
# The packages come from the mirror that apt uses on this machine. DEBIAN_MIRROR selects another mirror; set it on
# machines that do not run Debian.
# The loader and the C library of Debian 13 run each program. Exits with the code of the command, or with 75 and a
# message if the packages cannot be used on this machine.
set -euo pipefail
folder=${1:?the folder to unpack into}
shift
suite=trixie
skip() { echo "$*" >&2; exit 75; }

command -v apt-get >/dev/null || skip "there is no apt-get to fetch packages of Debian with"
command -v dpkg-deb >/dev/null || skip "there is no dpkg-deb to unpack packages of Debian with"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -r "$keyring" ] || skip "there is no keyring of Debian to check packages by"

# Prints the mirror in sources.list or sources.list.d, in either format, and ignores the security and update suites.
configured_mirror() {
  # shellcheck source=/dev/null
  (. /etc/os-release && [ "${ID:-}" = debian ] && apt-get indextargets --no-release-info \
    --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Identifier: Packages' 2>/dev/null |
    awk -v own="${VERSION_CODENAME:-stable}" '$3 == "main" && $2 !~ /-/ {
      if ($2 == own) {print $1; found = 1; exit} if (other == "") other = $1} END {if (!found && other != "") print other}')
}

root=$folder/root
if [ ! -x "$root/usr/bin/redis-server" ] || [ ! -d "$root/usr/lib/postgresql/17" ]; then
  state=$folder/apt
  mkdir -p "$state/lists/partial" "$state/archives/partial" "$state/cache" "$root"
  mirror=${DEBIAN_MIRROR:-$(configured_mirror || true)}
  [ -n "$mirror" ] || skip "apt of this machine names no mirror of Debian; set DEBIAN_MIRROR to the address of one"
  echo "deb [signed-by=$keyring] $mirror $suite main" > "$state/sources.list"
  apt=(apt-get -qq -o "Dir::Etc::sourcelist=$state/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$state/lists" -o "Dir::Cache=$state/cache" -o "Dir::Cache::archives=$state/archives"
    -o Dir::State::status=/dev/null -o Acquire::Retries=2 -o Debug::NoLocking=1 -o APT::Sandbox::User=)
  "${apt[@]}" update >&2 || skip "no mirror of Debian answers"
  # Packages that only an installation needs, and the query compiler, are not downloaded.
  unwanted='^(perl|libperl|debconf|adduser|passwd|login|postgresql-common|postgresql-client-common|locales|libc-l10n|tzdata|procps|openssl_|ssl-cert|sysvinit|ucf|sensible|media|netbase|libjson|libipc|libio|libllvm|libz3|libc-bin|init-)'
  "${apt[@]}" install --print-uris -y --no-install-recommends postgresql-17 postgresql-17-pgvector redis-server |
    awk -F"[' ]+" -v no="$unwanted" '/^.http/ && $3 !~ no {print $2, $3, $5}' > "$state/packages"
  [ -s "$state/packages" ] || skip "Debian $suite has no such packages"
  while read -r address file hash; do
    deb=$state/archives/$file
    [ -s "$deb" ] || /usr/lib/apt/apt-helper -o APT::Sandbox::User= download-file "$address" "$deb" "$hash" >&2 ||
      skip "$address cannot be fetched"
    dpkg-deb -x "$deb" "$root"
    rm "$deb"
  done < "$state/packages"
fi

libraries=$(dirname "$(find "$root/usr/lib" -name 'ld-linux*' -path '*-linux-gnu*' | head -1)")
loader=$(find "$libraries" -name 'ld-linux*' | head -1)
bin=$root/usr/lib/postgresql/17/bin
# initdb starts postgres from its own folder, so scripts that call the loader replace both programs.
for program in initdb postgres; do
  [ -e "$bin/$program.real" ] || mv "$bin/$program" "$bin/$program.real"
  printf '#!/bin/sh\nexec %s --argv0 "$0" --library-path %s %s "$@"\n' "$loader" "$libraries" "$bin/$program.real" > "$bin/$program"
  chmod 755 "$bin/$program"
done

run=$(mktemp -d "${TMPDIR:-/tmp}/recalld-debian-XXXXXX")
pids=()
finish() {
  for pid in "${pids[@]}"; do kill -INT "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$run"
}
trap finish EXIT
free_port() { node -e 'const s=require("net").createServer().listen(0,"127.0.0.1",()=>{console.log(s.address().port);s.close()})'; }
# PostgreSQL refuses to run as root.
as=()
if [ "$(id -u)" = 0 ]; then
  as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
  chmod a+x "$folder" "$run" && mkdir "$run/pg" && chown 65534:65534 "$run/pg" && chmod 700 "$run/pg"
fi

pg_port=$(free_port)
"${as[@]}" "$bin/initdb" -D "$run/pg" -U recalld -A trust --no-locale -E UTF8 --no-sync > "$run/initdb.log" 2>&1 ||
  { cat "$run/initdb.log" >&2; skip "PostgreSQL of Debian 13 does not run here"; }
"${as[@]}" "$bin/postgres" -D "$run/pg" -p "$pg_port" -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off -c jit=off \
  > "$run/postgres.log" 2>&1 &
pids+=($!)
redis_port=$(free_port)
"$loader" --library-path "$libraries" "$root/usr/bin/redis-server" --port "$redis_port" --bind 127.0.0.1 --save '' \
  --dir "$run" > "$run/redis.log" 2>&1 &
pids+=($!)
for port in "$pg_port" "$redis_port"; do
  for _ in $(seq 300); do (: < "/dev/tcp/127.0.0.1/$port") 2>/dev/null && break; sleep 0.1; done
done
export RECALLD_TEST_PGVECTOR_URL=postgres://recalld@127.0.0.1:$pg_port/postgres
export RECALLD_TEST_REDIS_URL=redis://127.0.0.1:$redis_port
"$bin/postgres" --version >&2
"$loader" --library-path "$libraries" "$root/usr/bin/redis-server" --version >&2
"$@"
