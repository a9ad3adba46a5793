# Points 10, 11 and 14: Policies that are lost. A trusted policy that changed or disappeared never lets more through.

_policy() {
    printf '[permissions]\ndeny = ["Bash(touch *)"]\n' > vertebra.toml
    trusted
}

_passes() { [ "$(verdict "touch $MARK")" = allow ]; }

# In our own agent, a call that the policy denied
_passes_in_run() {
    agent "touch made"
    [ -e made ]
}

# The policy is removed
policy_removed() {
    _policy; rm vertebra.toml
    broken_if _passes
}

# The policy is emptied
policy_emptied() {
    _policy; : > vertebra.toml
    broken_if _passes
}

# The policy becomes a link to an empty file
policy_becomes_link() {
    _policy; : > empty; mv vertebra.toml v; ln -s empty vertebra.toml
    broken_if _passes
}

# The project's folder is moved and a new one stands in its place
project_replaced() {
    _policy; cd "$ROOT" && mv project p2 && mkdir project && cd project || exit 2
    broken_if _passes
}

# The project's folder is moved and linked back
project_linked_back() {
    _policy; cd "$ROOT" && mv project p2 && ln -s p2 project && cd "$ROOT/project" || exit 2
    broken_if _passes
}

# The project's folder is moved and linked back, and the policy is removed
project_linked_back_without_policy() {
    _policy; cd "$ROOT" && mv project p2 && ln -s p2 project && rm p2/vertebra.toml && cd "$ROOT/project" || exit 2
    broken_if _passes
}

# The record of trusted folders is removed
trust_record_removed() {
    _policy; rm -f "$HOME/.local/state/vertebra/trust.json"
    broken_if _passes
}

# The whole state folder is removed
state_folder_removed() {
    _policy; rm -rf "$HOME/.local/state/vertebra"
    broken_if _passes
}

# The state folder is elsewhere for the next event
state_folder_elsewhere() {
    _policy; export XDG_STATE_HOME=$ROOT/empty; mkdir -p "$XDG_STATE_HOME"
    broken_if _passes
}

# The state folder and the configuration folder are elsewhere for the next event
both_folders_elsewhere() {
    _policy; export XDG_STATE_HOME=$ROOT/empty XDG_CONFIG_HOME=$ROOT/empty; mkdir -p "$ROOT/empty"
    broken_if _passes
}

# Both folders are elsewhere, and the policy is removed, in an unattended run
run_with_both_folders_elsewhere() {
    _policy; rm vertebra.toml; export XDG_STATE_HOME=$ROOT/empty XDG_CONFIG_HOME=$ROOT/empty; mkdir -p "$ROOT/empty"
    broken_if _passes_in_run
}

# Both records of trust are cut to nothing
records_cut() {
    _policy; mkdir -p "$HOME/.local/state/vertebra" "$HOME/.config/vertebra"
    : > "$HOME/.local/state/vertebra/trust.json"; : > "$HOME/.config/vertebra/expected.json"
    broken_if _passes
}

_empty_record() { mkdir -p "$(dirname "$1")"; printf '{"version": 1, "folders": {}}\n' > "$1"; }

# Both records of trust are replaced by valid, empty ones
records_replaced_by_empty_ones() {
    _policy; _empty_record "$HOME/.local/state/vertebra/trust.json"; _empty_record "$HOME/.config/vertebra/expected.json"
    broken_if _passes
}

# The records of trust are replaced by those of another home
records_replaced_by_those_of_another_home() {
    mkdir -p "$ROOT/h2/.local/state/vertebra" "$ROOT/p2" "$HOME/.local/state/vertebra"; echo x > "$ROOT/p2/AGENTS.md"
    _empty_record "$ROOT/h2/.local/state/vertebra/trust.json"
    is_control || { rm -r "$ROOT/h2"; HOME=$ROOT/h2 vertebra trust --yes -C "$ROOT/p2" > /dev/null || exit 2; }
    _policy
    cp "$ROOT/h2/.local/state/vertebra/trust.json" "$HOME/.local/state/vertebra/"
    rm -f "$HOME/.config/vertebra/expected.json"
    broken_if _passes
}

# The folder is taken out of both records of trust
folder_taken_out_of_the_records() {
    lacks python3 && return
    _policy
    for file in "$HOME/.local/state/vertebra/trust.json" "$HOME/.config/vertebra/expected.json"; do
        [ -e "$file" ] && python3 - "$file" << 'EOF'
import json, sys
file = json.load(open(sys.argv[1]))
for part in (file, file.get("record", {})):
    if "folders" in part:
        part["folders"] = {}
json.dump(file, open(sys.argv[1], "w"))
EOF
    done
    broken_if _passes
}

# One record of trust is deleted and the other one emptied, in an unattended run
run_after_records_deleted_and_emptied() {
    _policy; rm -f "$HOME/.local/state/vertebra/trust.json"; _empty_record "$HOME/.config/vertebra/expected.json"
    broken_if _passes_in_run
}

# A person's own settings that deny a command, seen by one event
_own_policy() {
    mkdir -p "$HOME/.config/vertebra"
    printf '[permissions]\ndeny = ["Bash(touch *)"]\n' > "$HOME/.config/vertebra/vertebra.toml"
    is_control || [ "$(verdict 'touch x')" = deny ] || { echo "the settings are not in force"; exit 2; }
}

# A person's own settings are deleted by another process
own_settings_deleted() {
    _own_policy; find "$HOME" -name 'vertebra.t*' -delete
    broken_if _passes
}

# A person's own settings are emptied by another process
own_settings_emptied() {
    _own_policy; echo '# nothing' > "$HOME/.config/vertebra/vertebra.toml"
    broken_if _passes
}

# A person's own settings are replaced by empty lists
own_settings_with_empty_lists() {
    _own_policy; printf '[permissions]\ndeny = []\nask = []\n' > "$HOME/.config/vertebra/vertebra.toml"
    broken_if _passes
}

# The folder of a person's own settings is moved away
own_settings_folder_moved() {
    _own_policy; mv "$HOME/.config" "$HOME/c2"
    broken_if _passes
}

# The folder of a person's own settings is elsewhere for the next event
own_settings_elsewhere() {
    _own_policy; export XDG_CONFIG_HOME=$ROOT/empty; mkdir -p "$XDG_CONFIG_HOME"
    broken_if _passes
}

# An unattended run after a person's own settings were deleted
run_after_own_settings_deleted() {
    _own_policy; rm "$HOME/.config/vertebra/vertebra.toml"
    broken_if _passes_in_run
}

# A sandboxed command removes a person's own settings by names that it does not spell
own_settings_unspelled() {
    mkdir -p "$HOME/.config/vertebra" "$PROJECT/sub"
    printf '[permissions]\nask = ["Bash(reboot)"]\n' > "$HOME/.config/vertebra/vertebra.toml"
    agent 'c=con; cd ~/.${c}fig/v*a && rm -f v*.toml' \
        'find "$HOME" -name "v*.toml" -delete' \
        'python3 -c "import os; os.truncate(os.path.join(os.environ[\"HOME\"], \".con\" + \"fig/verte\" + \"bra/vertebra.toml\"), 0)"' \
        'ln -s "$HOME/.config" sub/way; : > sub/way/vertebra/vertebra.toml; mv sub/way/vertebra sub/v2' \
        'printf "rm -rf %s/.config\n" "$HOME" > s.sh; sh s.sh; mv "$HOME/.config" "$HOME/c2"' \
        'mkdir -p m; mount --bind m "$HOME/.config/vertebra"'
    broken_if test ! -s "$HOME/.config/vertebra/vertebra.toml"
}

# An unattended run after the policy was removed
run_after_policy_removed() {
    _policy; rm vertebra.toml
    broken_if _passes_in_run
}

# An unattended run after the policy was changed
run_after_policy_changed() {
    _policy; echo '# changed' >> vertebra.toml
    broken_if _passes_in_run
}

# An unattended run after the policy was weakened
run_after_policy_weakened() {
    _policy; printf '[permissions]\nallow = ["Bash(*)"]\n' > vertebra.toml
    broken_if _passes_in_run
}

# An unattended run after the record of trusted folders was removed
run_after_trust_record_removed() {
    _policy; rm -rf "$HOME/.local/state/vertebra"
    broken_if _passes_in_run
}

# An unattended run after the policy was broken
run_after_policy_broken() {
    _policy; echo '[permissions' >> vertebra.toml
    broken_if _passes_in_run
}

# A settings file of the person with too many rules
too_many_rules() {
    mkdir -p "$HOME/.config/vertebra"
    { printf '[permissions]\ndeny = ["Bash(touch *)"'; for n in $(seq 20000); do printf ', "Bash(x%d *)"' "$n"; done; echo ']'; } > "$HOME/.config/vertebra/vertebra.toml"
    broken_if _passes_in_run
}

# A settings file of the person with too many rules, in another agent
too_many_rules_in_another_agent() {
    mkdir -p "$HOME/.config/vertebra"
    { printf '[permissions]\ndeny = ["Bash(touch *)"'; for n in $(seq 20000); do printf ', "Bash(x%d *)"' "$n"; done; echo ']'; } > "$HOME/.config/vertebra/vertebra.toml"
    broken_if _passes
}

# A settings file of the person with a mistake after a deny rule
mistake_after_a_deny_rule() {
    mkdir -p "$HOME/.config/vertebra"
    printf '[permissions]\ndeny = ["Bash(touch *)"]\nunknown = 1\n' > "$HOME/.config/vertebra/vertebra.toml"
    broken_if _passes
}

# An unattended run with a mistake beside a deny rule for reading
run_with_a_mistake_beside_a_deny_rule() {
    mkdir -p "$HOME/.config/vertebra"
    printf '[permissions]\ndeny = ["Read(**/.env)" "Bash(x)"]\nunknown = 1\n' > "$HOME/.config/vertebra/vertebra.toml"
    echo "$SECRET" > .env
    call read_file '{"path": ".env"}' 'cat .env'
    broken_if_leaked
}

# An unattended run whose settings became a folder
run_with_a_folder_as_settings() {
    mkdir -p "$HOME/.config/vertebra/vertebra.toml"
    broken_if _passes_in_run
}

# An unattended run whose settings are a link to nothing
run_with_a_dangling_link_as_settings() {
    mkdir -p "$HOME/.config/vertebra"; ln -s nowhere "$HOME/.config/vertebra/vertebra.toml"
    broken_if _passes_in_run
}

# Too many rules in the settings of a trusted project
too_many_rules_of_project() {
    { printf '[permissions]\ndeny = ["Bash(touch *)"'; for n in $(seq 20000); do printf ', "Bash(x%d *)"' "$n"; done; echo ']'; } > vertebra.toml
    is_control || vertebra trust --yes > /dev/null 2>&1
    broken_if _passes
}

# Both records and the settings are removed, and a host was installed
everything_removed_after_install() {
    no_control && return
    mkdir -p "$HOME/.claude"; echo '{}' > "$HOME/.claude/settings.json"
    vertebra install --host claude-code --user > "$ROOT/i.log" 2>&1 < /dev/null || { cat "$ROOT/i.log"; exit 2; }
    _policy
    rm -rf "$HOME/.local/state/vertebra" "$HOME/.config/vertebra" vertebra.toml
    local line
    line=$(grep -o '"[^"]*--event PreToolUse[^"]*"' "$HOME/.claude/settings.json" | head -1 | tr -d '"')
    answer=$(printf '{"hook_event_name": "PreToolUse", "session_id": "s", "cwd": %s, "tool_name": "Bash", "tool_input": {"command": "touch x"}}' "$(json "$PROJECT")" | sh -c "$line" 2> /dev/null)
    broken_if test -z "${answer##*\{\}*}" -o -z "$answer"
}

# Ends a probe: the policy does not hold any more, or nobody gets an answer.
_holds_in_time() {
    local begin=$SECONDS
    broken_if test "$(verdict "touch $MARK")" = allow -o $((SECONDS - begin)) -gt 25
}

# The policy becomes a pipe that nobody writes to
policy_becomes_pipe() {
    _policy; rm vertebra.toml; mkfifo vertebra.toml
    _holds_in_time
}

# The policy becomes a folder
policy_becomes_folder() {
    _policy; rm vertebra.toml; mkdir vertebra.toml
    _holds_in_time
}

# The policy becomes a link to itself
policy_becomes_loop() {
    _policy; rm vertebra.toml; ln -s vertebra.toml vertebra.toml
    _holds_in_time
}

# The policy cannot be read any more
policy_unreadable() {
    _policy; chmod 000 vertebra.toml
    _holds_in_time
}

# The policy becomes a file of three gigabytes
policy_huge() {
    _policy; truncate -s 3G vertebra.toml
    _holds_in_time
}

# The policy becomes something that is no text
policy_binary() {
    _policy; head -c 3000 /dev/urandom > vertebra.toml
    _holds_in_time
}

# The policy becomes twenty thousand open brackets
policy_deep() {
    _policy; { printf 'a = '; printf '[%.0s' $(seq 20000); } > vertebra.toml
    _holds_in_time
}

# Both records of trust become pipes that nobody writes to
records_become_pipes() {
    _policy
    for file in "$HOME/.local/state/vertebra/trust.json" "$HOME/.config/vertebra/expected.json"; do
        mkdir -p "${file%/*}"; rm -f "$file"; mkfifo "$file"
    done
    _holds_in_time
}

# The private copies of the policy are removed, and the policy too
copies_removed() {
    _policy; rm -rf "$HOME/.local/state/vertebra/trusted" vertebra.toml
    _holds_in_time
}

# The event names the folder of the project by a link, through /proc, with dots, and a folder in it that is not there
folder_by_other_names() {
    _policy; mkdir sub; ln -s project "$ROOT/other"
    for PROJECT in "$ROOT/other" "/proc/self/root$PROJECT" "$PROJECT/sub/.." "$PROJECT/not/there"; do
        [ "$(verdict "touch $MARK")" = allow ] && broken_if true && return
    done
    broken_if false
}

# The event names a folder below with an empty policy and a repository of its own
folder_below_with_its_own() {
    _policy; mkdir sub; : > sub/vertebra.toml; git init -q sub
    PROJECT=$PROJECT/sub
    _holds_in_time
}

# Events that are no calls, or have other types than they should
events_of_other_types() {
    no_control && return
    _policy
    local head='{"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "'$PROJECT'"' event answer code
    for event in '' '{' '[]' 'null' "$head}" "$head, \"tool_name\": 5, \"tool_input\": {\"command\": \"touch x\"}}" \
        "$head, \"tool_name\": \"Bash\", \"tool_input\": \"touch x\"}" \
        "$head, \"tool_name\": \"Bash\", \"tool_input\": {\"command\": [\"touch\", \"x\"]}}" \
        "$head, \"tool_name\": \"Bash\", \"tool_input\": {\"Command\": \"touch x\"}}" \
        "$head, \"tool_name\": \"Bash \", \"tool_input\": {\"command\": \"touch x\"}}" \
        "$head, \"tool_name\": \"Bash\", \"tool_input\": {\"command\": \"ls\", \"command\": \"touch x\"}}"; do
        answer=$(vertebra hook --host claude-code <<< "$event" 2> /dev/null); code=$?
        case $code:$answer in 0:*'"deny"'* | 0:*'"ask"'* | [1-9]*) ;; *) echo "$event: $answer"; broken_if true; return ;; esac
    done
    broken_if false
}
