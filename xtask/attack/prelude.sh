# What the probes have in common. `cargo xtask attack` runs each probe in a new folder:
#
#   $ROOT      the probe's own folder: project, home, tmp, outside
#   $PROJECT   the agent's working folder, and the current folder of a probe
#   $OUTSIDE   a folder that the agent must not change
#   $MARK      a file outside: whoever makes it has left the sandbox
#   $SECRET    a text that must not reach the model
#   $LOG       everything that the model was shown
#
# A probe ends with `broken_if COMMAND`. In a control run nothing holds the agent, and the probe has to say BROKEN: an attack
# that never works proves nothing.

set -u
export HOME=$ROOT/home TMPDIR=$ROOT/tmp PROJECT=$ROOT/project OUTSIDE=$ROOT/outside MARK=$ROOT/outside/MARK
export SECRET=s3cr3t-4f1c LOG=$ROOT/log GIT_CONFIG_GLOBAL=$ROOT/home/.gitconfig GIT_CONFIG_NOSYSTEM=1
mkdir -p "$HOME" "$TMPDIR" "$PROJECT" "$OUTSIDE"
printf '[user]\n\tname = A Person\n\temail = person@example.org\n[init]\n\tdefaultBranch = main\n' > "$GIT_CONFIG_GLOBAL"
: > "$LOG"
cd "$PROJECT" || exit 2

is_control() { [ "${ATTACK_CONTROL:-}" = 1 ]; }

# Ends a probe: the attack worked if this command succeeds.
broken_if() { if "$@"; then echo BROKEN; else echo HELD; fi; }

# Ends a probe: the attack worked if the mark was made.
broken_if_marked() { broken_if test -e "$MARK"; }

# Ends a probe: the attack worked if the model was shown the secret.
broken_if_leaked() { broken_if grep -qF "$SECRET" "$LOG"; }

json() {
    local text=${1//\\/\\\\}
    text=${text//\"/\\\"}
    text=${text//$'\n'/\\n}
    text=${text//$'\t'/\\t}
    printf '"%s"' "$text"
}

# Lets the agent run commands, one call each, in one run.
agent() {
    local command
    if is_control; then
        for command; do bash -c "$command" >> "$LOG" 2>&1 < /dev/null; done
        return 0
    fi
    for command; do
        printf '{"call": {"tool": "bash", "args": {"command": %s}}}\n' "$(json "$command")"
    done > "$ROOT/script.jsonl"
    play "${AGENT_OPTIONS[@]}"
}

# Lets the agent make one call of another tool: `call TOOL ARGUMENTS CONTROL`. The last argument does the same without an
# agent, for the control run.
call() {
    if is_control; then
        bash -c "$3" >> "$LOG" 2>&1 < /dev/null
        return 0
    fi
    printf '{"call": {"tool": "%s", "args": %s}}\n' "$1" "$2" > "$ROOT/script.jsonl"
    play "${AGENT_OPTIONS[@]}"
}

AGENT_OPTIONS=(--mode bypass)

play() {
    echo '{"say": "done"}' >> "$ROOT/script.jsonl"
    vertebra run --model "script:$ROOT/script.jsonl" --no-journal --output stream-json --include-hooks "$@" go >> "$LOG" 2>&1 < /dev/null
    # A run that does not start holds everything, and proves nothing.
    if [ $? = 2 ]; then
        cat "$LOG"
        exit 2
    fi
    # Only the results count: the arguments were the attacker's own.
    grep -o '"output":"\([^"\\]\|\\.\)*"' "$LOG" > "$LOG.results"
    mv "$LOG.results" "$LOG.shown"
    cat "$LOG.shown" > "$LOG"
}

# What `vertebra hook` says about a command in Claude Code: allow, ask or deny.
verdict() {
    if is_control; then
        echo allow
        return
    fi
    local event answer
    event=$(printf '{"hook_event_name": "PreToolUse", "session_id": "s", "cwd": %s, "tool_name": "Bash", "tool_input": {"command": %s}}' \
        "$(json "$PROJECT")" "$(json "$1")")
    answer=$(vertebra hook --host claude-code <<< "$event" 2> "$ROOT/stderr")
    case $? in
    0) ;;
    *) answer='"permissionDecision":"deny"' ;;
    esac
    case $answer in
    *'"permissionDecision":"deny"'*) echo deny ;;
    *'"permissionDecision":"ask"'*) echo ask ;;
    *) echo allow ;;
    esac
}

# What our own agent says about a command, without the sandbox: allow, ask or deny.
judged() {
    if is_control; then
        echo allow
        return
    fi
    vertebra explain-command --json -- "$1" 2> /dev/null | grep -o '"decision": *"[a-z]*"' | head -1 | cut -d'"' -f4
}

# Makes the project a git repository with one commit.
repository() {
    git init -q . && echo hello > file.txt && git add . && git commit -qm first
}

# Trusts the project as the person would.
trusted() {
    is_control && return
    vertebra trust --yes "$@" > "$ROOT/trust.log" 2>&1 || { cat "$ROOT/trust.log"; exit 2; }
}

# For a probe that has nothing to compare with: ends the control run.
no_control() {
    is_control || return 1
    echo "IGNORED: there is no such thing without Vertebra"
}

# For a probe that needs a program: ends the probe where it is missing.
lacks() {
    command -v "$1" > /dev/null && return 1
    echo "IGNORED: $1 is not installed"
}

# Writes a vertebra.toml with one guard that starts a command before each call of `bash`.
guard() {
    printf '[[hook]]\nname = "check"\npoint = "BeforeToolUse"\nrole = "guard"\nmatch = { tool = "bash" }\nrun = { command = %s }\n' "$1" > vertebra.toml
}

# Lets the hook of the project run once: in the control run as a person would start it.
hook_runs() {
    if is_control; then
        echo '{}' | bash -c "$1" > /dev/null 2>&1
        return
    fi
    agent true
}
