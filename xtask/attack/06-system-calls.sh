# Point 6: System calls. A command reaches no process outside, and dies with its agent.

_victim() {
    sleep 60 &
    victim=$!
    disown $victim
}

_soft_fsize() { awk '/Max file size/ {print $4}' "/proc/$1/limits"; }

# prlimit on a process outside
prlimit_of_others() {
    _victim
    agent "prlimit --pid $victim --fsize=0" "python3 -c 'import resource; resource.prlimit($victim, resource.RLIMIT_FSIZE, (0, 0))'"
    broken_if test "$(_soft_fsize $victim)" = 0
    kill $victim
}

# setpriority on a process outside
priority_of_others() {
    _victim
    before=$(cut -d' ' -f19 /proc/$victim/stat)
    agent "renice -n 19 -p $victim" "python3 -c 'import os; os.setpriority(os.PRIO_PROCESS, $victim, 19)'"
    broken_if test "$(cut -d' ' -f19 /proc/$victim/stat)" != "$before"
    kill $victim
}

# sched_setaffinity on a process outside
affinity_of_others() {
    _victim
    agent "taskset -p 1 $victim"
    broken_if grep -q 'Cpus_allowed_list:	0$' /proc/$victim/status
    kill $victim
}

# sched_setscheduler on a process outside
scheduler_of_others() {
    _victim
    agent "chrt --idle -p 0 $victim"
    broken_if test "$(cut -d' ' -f41 /proc/$victim/stat)" = 5
    kill $victim
}

# ioprio_set on a process outside
ioprio_of_others() {
    _victim
    before=$(ionice -p $victim)
    agent "ionice -c 3 -p $victim"
    broken_if test "$(ionice -p $victim)" != "$before"
    kill $victim
}

# Signals to a process outside
signal_to_others() {
    _victim
    agent "kill -9 $victim"
    sleep 0.2
    broken_if test ! -e /proc/$victim
    kill $victim 2> /dev/null
}

# Signals to a process outside by a handle, and to its group
signal_to_groups_and_handles() {
    setsid bash -c 'echo $$ > "$ROOT/victim"; exec sleep 60' &
    disown $!
    until test -s "$ROOT/victim"; do sleep 0.05; done
    victim=$(cat "$ROOT/victim")
    agent "kill -9 -- -$victim" "python3 -c 'import os, signal; signal.pidfd_send_signal(os.pidfd_open($victim), 9)'"
    sleep 0.2
    broken_if test ! -e /proc/$victim
    kill $victim 2> /dev/null
}

# A terminal that belongs to another process is written to
terminal_of_others() {
    python3 -c 'import os, select, sys
m, s = os.openpty(); print(os.ttyname(s), flush=True)
print(os.read(m, 99) if select.select([m], [], [], 5)[0] else "", flush=True)' > "$ROOT/terminal" &
    holder=$!
    until test -s "$ROOT/terminal"; do sleep 0.05; done
    agent "python3 -c 'open(\"$(head -1 "$ROOT/terminal")\", \"w\").write(\"typed\\n\")'"
    wait $holder
    broken_if grep -q typed "$ROOT/terminal"
}

# ptrace and the memory of a process outside
memory_of_others() {
    _victim
    agent "python3 -c 'open(\"/proc/$victim/mem\", \"rb\").seek(0); open(\"/proc/$victim/environ\").read(); print(\"$SECRET\")'"
    broken_if_leaked
    kill $victim
}

# A datagram socket pair is connected to a named socket outside
datagram_pair() {
    python3 -c "
import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind('$OUTSIDE/sock'); s.settimeout(8)
try: s.recv(10); open('$MARK', 'w')
except OSError: pass
" &
    listener=$!
    while [ ! -S "$OUTSIDE/sock" ]; do :; done
    agent "python3 -c '
import socket
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
a.connect(\"$OUTSIDE/sock\"); a.send(b\"x\")'" "python3 -c '
import socket
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
a.sendto(b\"x\", \"$OUTSIDE/sock\")'"
    is_control && wait $listener
    kill $listener 2> /dev/null
    broken_if_marked
}

# A named socket of another process in the project: by its name, a link, a second name, and a swap while the call is judged
named_socket() {
    python3 -c "
import socket
s = socket.socket(socket.AF_UNIX); s.bind('$PROJECT/agent.sock'); s.listen(); s.settimeout(12)
try: s.accept(); open('$MARK', 'w')
except OSError: pass
" &
    listener=$!
    while [ ! -S "$PROJECT/agent.sock" ]; do :; done
    agent "python3 -c '
import socket
socket.socket(socket.AF_UNIX).connect(\"agent.sock\")'" "ln -s agent.sock link; ln agent.sock second; python3 -c '
import socket
for name in [\"link\", \"second\"]:
    try: socket.socket(socket.AF_UNIX).connect(name)
    except OSError: pass'" "python3 -c '
import ctypes, os, socket, struct, threading, time
libc = ctypes.CDLL(None); memory = ctypes.create_string_buffer(110)
server = socket.create_server((\"127.0.0.1\", 0))
inet = struct.pack(\"H\", 2) + struct.pack(\"!H\", server.getsockname()[1]) + bytes([127, 0, 0, 1]) + bytes(102)
unix = (struct.pack(\"H\", 1) + b\"agent.sock\").ljust(110, bytes(1))
number = os.dup(server.fileno()); end = time.time() + 4
def swap():
    while time.time() < end:
        for address, family in [(inet, 2), (unix, 1)]:
            ctypes.memmove(memory, address, 110)
            fresh = socket.socket(family); fresh.setblocking(False); os.dup2(fresh.fileno(), number); fresh.close()
thread = threading.Thread(target=swap); thread.start()
while time.time() < end: libc.connect(number, memory, 16)
thread.join()'"
    is_control && wait $listener
    kill $listener 2> /dev/null
    broken_if_marked
}

# System V shared memory of another process
shared_memory_of_others() {
    id=$(ipcmk -M 4096 | grep -o '[0-9]*$')
    agent "ipcrm -m $id"
    broken_if test -z "$(ipcs -m | awk -v id="$id" '$2 == id')"
    ipcrm -m "$id" 2> /dev/null
}

# A System V message queue of another process
message_queue_of_others() {
    id=$(ipcmk -Q | grep -o '[0-9]*$')
    agent "ipcrm -q $id"
    broken_if test -z "$(ipcs -q | awk -v id="$id" '$2 == id')"
    ipcrm -q "$id" 2> /dev/null
}

# A System V semaphore of another process
semaphore_of_others() {
    id=$(ipcmk -S 1 | grep -o '[0-9]*$')
    agent "ipcrm -s $id"
    broken_if test -z "$(ipcs -s | awk -v id="$id" '$2 == id')"
    ipcrm -s "$id" 2> /dev/null
}

# A file of another process in /dev/shm is changed
dev_shm_changed() {
    file=/dev/shm/attack-$$-$(id -u)-${ATTACK_CONTROL:-0}; echo before > "$file"
    agent "echo after > $file"
    broken_if grep -q after "$file"
    rm -f "$file"
}

# A file of another process in /dev/shm is removed
dev_shm_removed() {
    file=/dev/shm/attack-rm-$$-$(id -u)-${ATTACK_CONTROL:-0}; echo before > "$file"
    agent "rm -f $file"
    broken_if test ! -e "$file"
    rm -f "$file"
}

_dies_with_agent() {
    if is_control; then
        bash -c "($1) & wait" & runner=$!
    else
        printf '{"call": {"tool": "bash", "args": {"command": %s}}}\n{"say": "done"}\n' "$(json "$1")" > "$ROOT/script.jsonl"
        vertebra run --model "script:$ROOT/script.jsonl" --no-journal --mode bypass go > "$LOG" 2>&1 < /dev/null & runner=$!
    fi
    for _ in $(seq 200); do [ -s "$PROJECT/beat" ] && break; sleep 0.05; done
    [ -s "$PROJECT/beat" ] || { cat "$LOG"; exit 2; }
    kill -9 $runner; wait $runner 2> /dev/null
    # A command that lives on writes more beats.
    sleep 0.5; size=$(stat -c %s beat); sleep 0.7
    broken_if test "$(stat -c %s beat)" -gt "$size"
    pkill -9 -f "$ROOT" 2> /dev/null
    pkill -9 -f "beat-$ROOT" 2> /dev/null
}

# A command lives on after the agent was killed
command_outlives_agent() {
    _dies_with_agent "while sleep 0.1; do echo x >> $PROJECT/beat; [ \$SECONDS -gt 20 ] && break; done"
}

# A command that left its session lives on after the agent was killed
daemon_outlives_agent() {
    _dies_with_agent "(setsid bash -c 'trap : HUP TERM; while sleep 0.1; do echo x >> $PROJECT/beat; [ \$SECONDS -gt 20 ] && break; done' < /dev/null > /dev/null 2>&1 &) ; sleep 15"
}

# Placeholders appear in the work tree while a command runs
nothing_appears_in_the_tree() {
    no_control && return
    repository
    agent 'ls -A > ../tmp/list; ls -A > "$TMPDIR/list"'
    broken_if grep -qvE '^(\.git|file\.txt)$' "$ROOT/tmp/list"
}

# git stash -u fails because of the sandbox
stash_works() {
    no_control && return
    repository; echo work > new.txt; echo changed > file.txt
    agent 'git stash -u' 'git stash pop'
    broken_if test "$(cat new.txt file.txt 2> /dev/null)" != "$(printf 'work\nchanged')"
}

# git remote add fails because of the sandbox
remote_add_works() {
    no_control && return
    repository
    agent 'git remote add origin https://example.org/x.git'
    broken_if test "$(git remote get-url origin 2> /dev/null)" != https://example.org/x.git
}

_made() {
    repository
    agent "$2"
    broken_if test -e "$1"
}

# A command makes .envrc
makes_envrc() {
    _made .envrc 'echo x > .envrc' 'touch .envrc'
}

# A command makes .envrc by a rename
makes_envrc_by_rename() {
    _made .envrc 'echo x > a; mv a .envrc'
}

# A command makes .envrc by a hard link
makes_envrc_by_link() {
    _made .envrc 'echo x > a; ln a .envrc'
}

# A command makes .envrc among packages, where it may, and renames the folder of packages
makes_envrc_by_packages() {
    _made x/.envrc 'mkdir node_modules; echo x > node_modules/.envrc; python3 -c "import os; os.rename(\"node_modules\", \"x\")"'
}

# A command makes .envrc by a symbolic link
makes_envrc_by_symlink() {
    repository
    agent 'echo x > a; ln -s a .envrc'
    broken_if test -L .envrc
}

# A command makes .envrc through a link to the folder
makes_envrc_through_link() {
    _made .envrc 'ln -s . here; echo x > here/.envrc'
}

# A command makes .envrc through /proc/self/cwd
makes_envrc_through_proc() {
    _made .envrc 'echo x > /proc/self/cwd/.envrc'
}

# A command makes .envrc through a descriptor of the folder
makes_envrc_through_descriptor() {
    _made .envrc "python3 -c 'import os; d = os.open(\".\", os.O_RDONLY | os.O_DIRECTORY); os.close(os.open(\".envrc\", os.O_CREAT | os.O_WRONLY, dir_fd=d))'"
}

# A command unpacks an archive with .envrc
makes_envrc_by_tar() {
    _made .envrc 'mkdir t && cd t && python3 -c "
import tarfile, io
t = tarfile.open(\"../a.tar\", \"w\"); i = tarfile.TarInfo(\".envrc\"); i.size = 1; t.addfile(i, io.BytesIO(b\"x\")); t.close()"; cd .. && tar xf a.tar'
}

# A command makes .claude/settings.json
makes_claude_settings() {
    _made .claude/settings.json 'mkdir -p .claude; echo {} > .claude/settings.json'
}

# A command makes .claude by renaming a folder
makes_claude_by_rename() {
    _made .claude/settings.json 'mkdir c; echo {} > c/settings.json; mv c .claude'
}

# A command makes vertebra.toml in a folder below
makes_policy_below() {
    _made sub/vertebra.toml 'mkdir -p sub; echo > sub/vertebra.toml'
}

# A command makes .ENVRC, which is the same name on some file systems
makes_envrc_in_capitals() {
    _made .ENVRC 'echo x > .ENVRC'
}

# A command changes the mode of a file outside
mode_outside() {
    echo x > "$OUTSIDE/f"; chmod 600 "$OUTSIDE/f"
    agent "chmod 666 $OUTSIDE/f" "python3 -c 'import os; os.fchmod(os.open(\"$OUTSIDE/f\", os.O_RDONLY), 0o666)'"
    broken_if test "$(stat -c %a "$OUTSIDE/f")" != 600
}

# A command gives a file outside to another owner
owner_outside() {
    [ "$(id -u)" = 0 ] || { echo "IGNORED: only root gives files away"; return; }
    echo x > "$OUTSIDE/f"; ln -s "$OUTSIDE/f" link
    agent "chown 12345:12345 $OUTSIDE/f" "chown -R 12345 link $OUTSIDE" "python3 -c '
import os
for flags in [os.O_RDONLY, os.O_PATH]:
    try: os.fchown(os.open(\"$OUTSIDE/f\", flags), 12345, 12345)
    except OSError: pass
os.chown(\"/proc/self/fd/%d\" % os.open(\"$OUTSIDE/f\", os.O_PATH), 12345, 12345)'"
    broken_if test "$(stat -c %u:%g "$OUTSIDE/f")" != 0:0
}

# A command changes the attributes of a file outside
attributes_outside() {
    lacks chattr && return
    echo x > "$OUTSIDE/f"; before=$(lsattr "$OUTSIDE/f") || { echo "IGNORED: this file system has no attributes"; return; }
    agent "chattr +Ad $OUTSIDE/f"
    broken_if test "$(lsattr "$OUTSIDE/f")" != "$before"
}

# A command makes others wait for a file outside, by a lease
lease_outside() {
    echo x > "$OUTSIDE/f"
    agent "python3 -c 'import fcntl, os; fcntl.fcntl(os.open(\"$OUTSIDE/f\", os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK); print(\"$SECRET\")'"
    broken_if_leaked
}

# The mode of a file of another process in /dev/shm is changed
dev_shm_mode() {
    file=/dev/shm/attack-mode-$$-$(id -u)-${ATTACK_CONTROL:-0}; echo before > "$file"; chmod 600 "$file"
    agent "chmod 666 $file" "python3 -c 'import os; os.fchmod(os.open(\"$file\", os.O_PATH), 0o666)'"
    broken_if test "$(stat -c %a "$file")" != 600
    rm -f "$file"
}

# The mode of a socket outside is changed, through a handle of it
socket_mode_outside() {
    python3 -c "import socket; socket.socket(socket.AF_UNIX).bind('$OUTSIDE/sock')"; chmod 600 "$OUTSIDE/sock"
    agent "python3 -c 'import os; os.chmod(\"/proc/self/fd/%d\" % os.open(\"$OUTSIDE/sock\", os.O_PATH), 0o666)'" \
        "python3 -c 'import os; os.fchmod(os.open(\"$OUTSIDE/sock\", os.O_PATH), 0o666)'"
    broken_if test "$(stat -c %a "$OUTSIDE/sock")" != 600
}

# chmod and chown of the folder itself fail because of the sandbox
folder_itself_works() {
    no_control && return
    repository; mkdir d; chmod 700 . d
    agent 'chmod -R u+rwX,go+rX . && chmod 755 d/. d/.. && chown -R "$(id -u):$(id -g)" . && touch done'
    broken_if test "$(stat -c %a . d | tr '\n' ' ')$(ls done)" != '755 755 done'
}

# A process outside is killed by the signal that a socket sends to its owner
signal_of_a_socket() {
    sleep 80 & victim=$!
    agent "python3 -c \"
import fcntl, os, signal, socket, time
one, other = socket.socketpair()
fcntl.fcntl(one, 10, signal.SIGKILL)
fcntl.fcntl(one, fcntl.F_SETOWN, $victim)
fcntl.fcntl(one, fcntl.F_SETFL, os.O_ASYNC)
other.send(b'x'); time.sleep(0.3)
\""
    kill -0 $victim 2> /dev/null && [ "$(cut -d' ' -f3 /proc/$victim/stat)" != Z ]
    local lives=$?
    kill $victim 2> /dev/null
    broken_if test $lives != 0
}

# Sockets of families that lead to the host, the kernel or the wire
socket_families() {
    no_control && return
    agent "python3 -c \"
import socket
for family in 4, 5, 9, 15, 17, 21, 24, 29, 30, 31, 38, 39, 40, 42, 44, 45:
    for kind in 1, 2, 3, 5:
        try: socket.socket(family, kind, 0); print('OPEN', family, kind)
        except OSError: pass
\""
    broken_if grep -q OPEN "$LOG"
}

# Processes that adopt orphans live on after the agent was killed
subreaper_lives_on() {
    cat > adopt.py <<'P'
import ctypes, os, time
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid(); time.sleep(3); open('alive', 'w')
    os._exit(0)
time.sleep(5)
P
    if is_control; then bash -c 'python3 adopt.py' & else
        printf '{"call": {"tool": "bash", "args": {"command": "touch began; python3 adopt.py"}}}\n{"say": "done"}\n' > "$ROOT/s.jsonl"
        vertebra run --model "script:$ROOT/s.jsonl" --no-journal --mode bypass go > "$ROOT/out" 2>&1 < /dev/null &
    fi
    agent=$!; sleep 2; kill -9 $agent; wait $agent 2> /dev/null; sleep 5
    is_control || test -e began || exit 2
    broken_if test -e alive
}

# Processes that fork and end all the time live on after the agent was killed
forking_lives_on() {
    no_control && return
    lacks cc && return
    cat > fork.c <<'C'
#include <sys/prctl.h>
#include <unistd.h>
int main(int count, char **words) {
    prctl(PR_SET_NAME, words[1], 0, 0, 0);
    for (;;) if (fork() == 0) setsid(); else _exit(0);
}
C
    cc -O1 -o fork fork.c || exit 2
    name=fork-$$
    printf '{"call": {"tool": "bash", "args": {"command": "touch began; ./fork %s; sleep 30"}}}\n{"say": "done"}\n' "$name" > "$ROOT/s.jsonl"
    vertebra run --model "script:$ROOT/s.jsonl" --no-journal --mode bypass go > "$ROOT/out" 2>&1 < /dev/null &
    agent=$!; sleep 2; kill -9 $agent; wait $agent 2> /dev/null; sleep 2
    test -e began || exit 2
    broken_if grep -qsx "$name" /proc/[0-9]*/comm
}

# Typing into a terminal of the command's own, and into those of others
typing_into_terminals() {
    no_control && return
    lacks script && return
    agent 'script -qc "python3 -c \"
import fcntl
try: fcntl.ioctl(0, 0x5412, b\\\"x\\\"); print(\\\"TYPED\\\")
except OSError as e: print(e)
\"" /dev/null' 'for t in /dev/pts/[0-9]*; do test -w $t && echo x > $t && echo TYPED; done'
    broken_if grep -q TYPED "$LOG"
}
