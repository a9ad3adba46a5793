//! Which commands reach the network, by the words in them.

use std::net::IpAddr;

use super::{command::parts, host::host_of};

/// Programs that connect to the host that they name.
const REACHES: &[&str] = &["curl", "ftp", "nc", "rsync", "scp", "sftp", "ssh", "wget"];

/// Options of `curl` that are followed by a word that is no address.
const CURL_VALUES: &[&str] = &[
    "-A",
    "-F",
    "-H",
    "-X",
    "-b",
    "-c",
    "-d",
    "-e",
    "-m",
    "-o",
    "-u",
    "-w",
    "--connect-timeout",
    "--cookie",
    "--data",
    "--data-binary",
    "--data-raw",
    "--data-urlencode",
    "--form",
    "--header",
    "--json",
    "--max-time",
    "--output",
    "--referer",
    "--request",
    "--retry",
    "--retry-delay",
    "--user",
    "--user-agent",
    "--write-out",
];

/// Programs that reach the network with these subcommands.
const FETCHES: &[(&str, &[&str])] = &[
    ("apt", &["install", "update", "upgrade"]),
    ("apt-get", &["install", "update", "upgrade"]),
    ("brew", &["install", "update", "upgrade"]),
    ("bun", &["add", "install"]),
    ("bundle", &["install", "update"]),
    ("cargo", &["add", "fetch", "install", "publish", "search", "update"]),
    ("composer", &["install", "require", "update"]),
    ("docker", &["pull", "push", "login"]),
    ("gem", &["install"]),
    ("gh", &["api", "pr", "release", "repo"]),
    ("git", &["clone", "fetch", "ls-remote", "pull", "push"]),
    ("go", &["get", "install"]),
    ("npm", &["add", "audit", "ci", "i", "install", "publish", "update", "view"]),
    ("pip", &["download", "install"]),
    ("pip3", &["download", "install"]),
    ("pipx", &["install"]),
    ("pnpm", &["add", "i", "install", "update"]),
    ("poetry", &["add", "install", "lock", "update"]),
    ("twine", &["upload"]),
    ("uv", &["add", "lock", "publish", "sync"]),
    ("uv pip", &["compile", "install", "sync"]),
    ("yarn", &["add", "install"]),
];

/// Returns the program and the subcommand with which a simple command reaches the network, such as `pip install`, or `None` if
/// it is not known to.
pub(crate) fn fetched_by(command: &str) -> Option<String> {
    let command = without_substitutions(command);
    let (words, _) = parts(&command);
    let (written, rest) = words.split_first()?;
    let program = written.rsplit_once('/').map_or(*written, |(_, name)| name);
    let (program, rest) = match rest {
        ["-m", module, rest @ ..] if program.starts_with("python") => (*module, rest),
        _ => (program, rest),
    };
    let mut operands = rest.iter().filter(|word| !word.starts_with('-'));
    if REACHES.contains(&program) {
        let is_value = |at: usize| program == "curl" && at > 0 && ends_with_value(rest[at - 1]);
        let words = rest.iter().enumerate().filter(|(at, word)| !word.starts_with('-') && !is_value(*at));
        let operands: Vec<&str> = words.map(|(_, word)| *word).collect();
        let outside = operands.iter().find(|word| may_reach_out(word));
        let is_local = outside.is_none() && operands.iter().any(|word| is_loopback(word));
        let named = outside.or(operands.first())?;
        return (!is_local).then(|| format!("{program} {named}"));
    }
    // The build in a clean environment downloads what builds the package.
    if program == "build"
        && written.contains("python")
        && !rest.iter().any(|word| matches!(*word, "-n" | "--no-isolation"))
    {
        return Some("python -m build".to_owned());
    }
    // The first word that is no option is the subcommand: `git stash push` pushes nothing.
    let mut subcommand = *operands.next()?;
    let mut program = program.to_owned();
    if program == "uv" && subcommand == "pip" {
        (program, subcommand) = ("uv pip".to_owned(), operands.next()?);
    }
    let is_known = FETCHES.iter().any(|(name, subcommands)| *name == program && subcommands.contains(&subcommand));
    let is_local = rest.iter().any(|word| matches!(*word, "--no-index" | "--offline" | "--frozen-offline"));
    // A folder of this machine has no address, and no host before a colon.
    let is_near = |word: &&str| word.starts_with(['.', '/']) || word.starts_with("file://");
    let is_local = is_local || (program == "git" && subcommand == "clone" && operands.next().is_some_and(is_near));
    (is_known && !is_local).then(|| format!("{program} {subcommand}"))
}

/// Returns whether an option of `curl` takes the next word. Short ones stand together: `-sXPOST` has its value, `-sX` not yet.
fn ends_with_value(option: &str) -> bool {
    let is_short = option.starts_with('-') && !option.starts_with("--");
    let last = option.char_indices().next_back().filter(|_| is_short).map(|(at, _)| format!("-{}", &option[at..]));
    let plain = |letters: &str| letters.chars().all(|letter| "fgiIjkLNnsSv".contains(letter));
    CURL_VALUES.contains(&option)
        || last.is_some_and(|last| CURL_VALUES.contains(&&*last) && plain(&option[1..option.len() - 1]))
}

/// Returns a command with `$(…)` in the place of each substitution: the words in it are those of other commands.
fn without_substitutions(command: &str) -> String {
    let (mut plain, mut depth, mut before) = (String::new(), 0_usize, ' ');
    for letter in command.chars() {
        match letter {
            '(' if depth > 0 || before == '$' => {
                plain.push_str(if depth == 0 { "(…)" } else { "" });
                depth += 1;
            }
            ')' if depth > 0 => depth -= 1,
            _ if depth == 0 => plain.push(letter),
            _ => {}
        }
        before = letter;
    }
    if depth == 0 { plain } else { command.to_owned() }
}

/// Returns whether a word is an address on the loopback interface, which the commands of a session have to themselves.
fn is_loopback(word: &str) -> bool {
    let address = if word.contains("://") { word.to_owned() } else { format!("http://{word}") };
    host_of(&address)
        .is_some_and(|host| host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()))
}

/// Returns whether a word may be an address elsewhere. Headers and data lose their quotes, so not every word is one.
fn may_reach_out(word: &str) -> bool {
    let is_host = |word: &str| word.chars().all(|letter| letter.is_alphanumeric() || ".-:[]".contains(letter));
    // Quotes are left over from data: no address has one.
    !word.contains('"') && (word.contains("://") || word.contains('.') && is_host(word)) && !is_loopback(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_managers_and_addresses_reach_the_network() {
        for (command, expected) in [
            ("pip install -r requirements.txt", "pip install"),
            (".venv/bin/pip install -q a", "pip install"),
            (".venv/bin/python -m pip install a", "pip install"),
            ("uv pip install a", "uv pip install"),
            (".venv/bin/python -m build --wheel", "python -m build"),
            ("npm ci", "npm ci"),
            ("git -q fetch", "git fetch"),
            ("git clone example.org:a/b.git", "git clone"),
            ("curl -fsS https://example.org/x", "curl https://example.org/x"),
            ("curl -fsS http://127.0.0.1 example.org", "curl example.org"),
            ("curl -o x.json http://127.0.0.1 --url https://example.org", "curl https://example.org"),
            ("curl -sS https://example.org -o x", "curl https://example.org"),
            ("curl -s $(cat url.txt | head -1)", "curl $(…)"),
            ("curl -H X: $(cat x.toml) http://127.0.0.1 example.org", "curl example.org"),
        ] {
            assert_eq!(fetched_by(command).as_deref(), Some(expected), "{command}");
        }
        for command in [
            "git stash push -u",
            "git commit -m push",
            "npm test",
            "uv pip list",
            "git clone -q . /tmp/x",
            "git clone ../other",
            "pip install --no-index -f wheels a",
            "python -m build --no-isolation",
            "python -m pytest",
            "curl -s http://127.0.0.1:8080/notes",
            "curl localhost:8080",
            "curl -s -H X: $(cat x.toml | cut -c1-$(cat n.txt)) localhost:8088/",
            "curl -X POST -H 'content-type: application/json' -d '{\"title\": \"a\"}' http://127.0.0.1:5000/notes",
            "curl -so /dev/null -w %{http_code} -X POST localhost:3456/links -d {\"url\":\"https://a.b/\"}",
            "curl -d {\"code\": \"x\", \"url\": \"https://a.b/\"} -o out.json http://127.0.0.1:3456/links",
            "curl -sH Origin:https://a.b http://localhost:3456/",
            "curl",
            "",
        ] {
            assert_eq!(fetched_by(command), None, "{command}");
        }
    }
}
