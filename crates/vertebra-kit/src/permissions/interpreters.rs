//! Programs that run what comes through their standard input: no rule can say what that will be.

/// Programs that run a script, or standard input if none is named.
const INTERPRETERS: &[&str] = &[
    "Rscript",
    "ash",
    "bash",
    "bun",
    "csh",
    "dash",
    "deno",
    "expect",
    "fish",
    "ghci",
    "irb",
    "julia",
    "ksh",
    "lua",
    "luajit",
    "node",
    "nodejs",
    "osascript",
    "perl",
    "php",
    "psysh",
    "pwsh",
    "pypy",
    "python",
    "ruby",
    "sh",
    "tclsh",
    "tcsh",
    "ts-node",
    "tsx",
    "zsh",
];

/// Options that take no value, after which the script may still come.
const FLAGS: &[&str] = &["-B", "-E", "-O", "-OO", "-e", "-eu", "-ex", "-eux", "-u", "-w", "-x"];

/// Options whose value is the program.
const CODE: &[&str] = &["-c", "-e", "-m", "-p", "-r", "--eval", "--print"];

/// Clients of databases that run standard input if no option names what to run.
const CLIENTS: &[&str] = &["mariadb", "mongosh", "mysql", "psql", "redis-cli", "sqlcmd", "sqlite3", "sqlplus"];

/// Options of clients that name what to run.
const QUERIES: &[&str] = &["-c", "-e", "-f", "--command", "--execute", "--eval", "--file"];

/// Returns whether a command, as far as its words say, runs a program that it reads from standard input, such as
/// `python3 - <<EOF` or `curl … | sh`. A rule for such words would allow every program.
pub(super) fn runs_input(words: &[&str]) -> bool {
    if words.iter().skip(1).any(|word| matches!(*word, "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")) {
        return true;
    }
    let name = |word: &str| {
        let name = word.rsplit('/').next().unwrap_or_default();
        name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').to_owned()
    };
    // Behind wrappers as well: `sudo bash`, `env -i python3`, `uv run python`.
    let interpreter = words.iter().position(|word| INTERPRETERS.contains(&&*name(word)));
    if let Some(at) = interpreter {
        let rest = &words[at + 1..];
        let after = rest.iter().position(|word| !FLAGS.contains(word));
        // The option for code is among the flags of some shells.
        let says_code = rest.iter().take(after.unwrap_or(rest.len()) + 1).any(|word| CODE.contains(word));
        let names_script = after.is_some_and(|at| !rest[at].starts_with('-'));
        return !(names_script || says_code && rest.len() > 1);
    }
    let is_client = words.iter().any(|word| word.contains("sqlite3") || CLIENTS.contains(&&*name(word)));
    let names_query = words.iter().any(|word| QUERIES.iter().any(|option| word.starts_with(option)));
    // `sqlite3 FILE QUERY`
    let operands = words.iter().skip(1).filter(|word| !word.starts_with('-')).count();
    is_client && !names_query && !(words.iter().any(|word| word.contains("sqlite3")) && operands > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_from_standard_input_is_told_from_a_script_that_is_named() {
        let runs = |command: &str| runs_input(&command.split(' ').collect::<Vec<_>>());
        for input in [
            "python3 -",
            "python3",
            "python3.13 -u",
            ".venv/bin/python - a b",
            "python3 -X dev",
            "bash",
            "bash -s -- a",
            "sudo sh",
            "env -i bash",
            "node",
            "uv run -",
            "uv run python",
            "perl -w",
            "ruby -I lib",
            "bash /dev/stdin",
            "psql shop",
            "sqlite3 a.db",
            "mysql -u me shop",
        ] {
            assert!(runs(input), "{input}");
        }
        for named in [
            "python3 x.py",
            "python3 -u x.py",
            "python3 -m timeit pass",
            "python3 -c pass",
            "bash build.sh",
            "bash -eu build.sh",
            "node x.js",
            "node -e 1",
            "perl -e 1",
            "psql -c x shop",
            "sqlite3 a.db .schema",
            "touch a",
            "go run .",
            "npx tsc",
        ] {
            assert!(!runs(named), "{named}");
        }
    }
}
