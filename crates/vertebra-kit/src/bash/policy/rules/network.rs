//! Programs that talk to other machines.

use super::super::{
    Class,
    fields::{Field, texts},
    invoke::Call,
    judge::Judge,
    options,
    places::Verb,
    value::{REMOTE, SECRET, UNKNOWN, blend, is_known, shown},
};

/// The host of an address, in lower case.
pub(super) fn host_of(address: &str) -> String {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let rest = rest.split(['/', '?', '#', '"', '\'']).next().unwrap_or_default();
    let rest = rest.rsplit('@').next().unwrap_or_default();
    let host = match rest.strip_prefix('[') {
        Some(inner) => inner.split(']').next().unwrap_or_default(),
        None => rest.split(':').next().unwrap_or_default(),
    };
    host.to_ascii_lowercase()
}

/// Whether a word names something on another machine: `host:path`, `user@host`, `scheme://…`.
pub(super) fn is_remote(text: &str) -> bool {
    if text.contains("://") {
        return !text.starts_with("file://");
    }
    let before_slash = text.split('/').next().unwrap_or_default();
    before_slash.contains(':') && !before_slash.starts_with(':') && before_slash.len() > 2
}

impl Judge<'_> {
    /// Whether data may be sent to the host of this address.
    pub(in super::super) fn is_own_host(&self, address: &str) -> bool {
        let host = host_of(address);
        let is_own = |own: &String| match own.strip_prefix('.') {
            Some(domain) => host == domain || host.ends_with(own.as_str()),
            None => host == *own,
        };
        is_known(&host) && self.ground.hosts.iter().any(is_own)
    }

    /// Judges that something is sent to an address.
    pub(in super::super) fn send(&mut self, address: &str, what: &str, doing: &str) {
        let class = Class::NetworkExfiltration;
        if self.is_own_host(address) {
            return;
        }
        let to = shown(&host_of(address));
        match (what.contains(SECRET), to.is_empty()) {
            (true, true) => self.deny(class, format!("{doing} and would send secrets")),
            (true, false) => self.deny(class, format!("{doing}: secrets would go to {to}")),
            (false, true) => self.ask(class, doing),
            (false, false) => self.ask(class, format!("{doing}: {to}")),
        }
    }
}

const CURL_VALUES: [&str; 36] = [
    "-o",
    "--output",
    "-d",
    "--data",
    "--data-raw",
    "--data-binary",
    "--data-urlencode",
    "--data-ascii",
    "-F",
    "--form",
    "--form-string",
    "-T",
    "--upload-file",
    "-H",
    "--header",
    "-A",
    "--user-agent",
    "-e",
    "--referer",
    "-b",
    "--cookie",
    "-c",
    "--cookie-jar",
    "-x",
    "--proxy",
    "-K",
    "--config",
    "-u",
    "--user",
    "-X",
    "--request",
    "-m",
    "--max-time",
    "--json",
    "--url",
    "-w",
];
const CURL_MORE: [&str; 38] = [
    "--proto",
    "--proto-redir",
    "--write-out",
    "--connect-timeout",
    "--retry",
    "--retry-delay",
    "-E",
    "--cert",
    "--cacert",
    "--key",
    "-r",
    "--range",
    "--resolve",
    "--connect-to",
    "-D",
    "--dump-header",
    "--preproxy",
    "--socks5",
    "--socks5-hostname",
    "--output-dir",
    "--unix-socket",
    "--abstract-unix-socket",
    "--interface",
    "--alt-svc",
    "--dns-servers",
    "--doh-url",
    "--etag-compare",
    "--etag-save",
    "--hsts",
    "--libcurl",
    "--netrc-file",
    "--proxy1.0",
    "--socks4",
    "--socks4a",
    "--stderr",
    "--trace",
    "--trace-ascii",
    "--variable",
];

/// Ways of sending that are no requests.
const SENDING_SCHEMES: [&str; 11] = [
    "gopher://",
    "dict://",
    "ldap://",
    "telnet://",
    "smtp://",
    "ftp://",
    "tftp://",
    "scp://",
    "sftp://",
    "smb://",
    "mqtt://",
];

/// Options of curl that reach for something besides the address.
fn curl_reaches(judge: &mut Judge<'_>, option: &str, text: &str) {
    match option {
        "-x" | "--proxy" | "--preproxy" | "--proxy1.0" | "--socks4" | "--socks4a" | "--socks5"
        | "--socks5-hostname" | "--connect-to" | "--resolve" | "--doh-url" | "--dns-servers"
            if !judge.is_own_host(text) =>
        {
            judge.deny(Class::NetworkExfiltration, "routes the connection through another machine");
        }
        "--unix-socket" | "--abstract-unix-socket" => {
            judge.ask(Class::PrivilegeEscalation, "connects to a local service through a Unix socket");
        }
        "-K" | "--config" => judge.unknown("`curl` reads its options from a file"),
        "--alt-svc" | "--etag-save" | "--hsts" | "--libcurl" | "--stderr" | "--trace" | "--trace-ascii"
            if text != "-" =>
        {
            judge.write(&Field::plain(text), Verb::Create);
        }
        _ => {}
    }
}

pub(super) fn curl(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let parsed = options::split(
        call.args(),
        |name| CURL_VALUES.contains(&name) || CURL_MORE.contains(&name) || name.starts_with("--expand-"),
        false,
    );
    let mut urls: Vec<String> = parsed.operands.iter().map(|url| url.text.clone()).collect();
    urls.extend(
        parsed
            .options
            .iter()
            .filter(|(name, _)| name == "--url")
            .filter_map(|(_, value)| value.as_ref().map(|url| url.text.clone())),
    );
    let mut sent = String::new();
    let mut sends = false;
    let mut outputs = Vec::new();
    let folder = parsed.value(&["--output-dir"]).map(|folder| folder.text.clone());
    let within = |file: Field| match &folder {
        Some(folder) if file.text != "-" && !file.text.starts_with(['/', '~']) => {
            Field::plain(format!("{folder}/{}", file.text))
        }
        _ => file,
    };
    for (option, value) in &parsed.options {
        let text = value.as_ref().map(|value| value.text.clone()).unwrap_or_default();
        curl_reaches(judge, option, &text);
        match option.as_str() {
            "--variable" => {
                if let Some((_, file)) = text.split_once('@') {
                    sent.push_str(&from(judge, call, file));
                }
            }
            "-d" | "--data" | "--data-binary" | "--data-urlencode" | "--data-ascii" | "--json" => {
                sends = true;
                sent.push_str(&text);
                let file = text
                    .split_once('@')
                    .filter(|(name, _)| option == "--data-urlencode" || name.is_empty())
                    .map(|(_, file)| file.to_owned());
                sent.push_str(&file.map(|file| from(judge, call, &file)).unwrap_or_default());
            }
            "--data-raw" | "--form-string" => {
                sends = true;
                sent.push_str(&text);
            }
            "-F" | "--form" => {
                sends = true;
                sent.push_str(&text);
                if let Some((_, file)) = text.split_once(['@', '<']) {
                    let file = file.split(';').next().unwrap_or_default().to_owned();
                    sent.push_str(&from(judge, call, &file));
                }
            }
            "-T" | "--upload-file" => {
                sends = true;
                sent.push_str(&from(judge, call, &text));
            }
            "-b" | "--cookie" | "-H" | "--header" if text.starts_with('@') || option == "-b" && !text.contains('=') => {
                sent.push_str(&from(judge, call, text.trim_start_matches('@')));
            }
            "-X" | "--request" => sends |= !matches!(text.as_str(), "GET" | "HEAD" | "OPTIONS"),
            "-H" | "--header" | "-A" | "--user-agent" | "-e" | "--referer" | "-b" | "--cookie" | "-u" | "--user" => {
                sent.push_str(&text);
            }
            "-o" | "--output" => outputs.extend(value.clone().map(within)),
            "-c" | "--cookie-jar" | "-D" | "--dump-header" => outputs.extend(value.clone()),
            "-O" | "--remote-name" | "-J" | "--remote-name-all" => {
                outputs.extend(urls.iter().map(|url| within(Field::plain(base_of(url)))));
            }
            _ if option.starts_with("--expand-") => sends = true,
            _ => {}
        }
    }
    let mut read = String::new();
    for url in &urls {
        if let Some(path) = url.strip_prefix("file://") {
            read.push_str(&judge.look(path));
        }
        if SENDING_SCHEMES.iter().any(|scheme| url.starts_with(scheme)) && sends {
            judge.ask(Class::NetworkExfiltration, format!("sends data to {url}"));
        }
        address(judge, url, &sent, sends);
    }
    downloaded(judge, &outputs);
    if outputs.iter().any(|output| output.text != "-") {
        return String::new();
    }
    if urls.iter().all(|url| url.starts_with("file://")) { read } else { read + &REMOTE.to_string() }
}

/// The content of a file that is sent; `-` is the standard input.
fn from(judge: &mut Judge<'_>, call: &Call<'_>, file: &str) -> String {
    if file == "-" || file == "/dev/stdin" || file == "." {
        return call.input.clone().unwrap_or_else(|| UNKNOWN.to_string());
    }
    judge.read(file)
}

fn base_of(url: &str) -> String {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let base = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    if base.is_empty() { "index.html".to_owned() } else { base.to_owned() }
}

/// Judges a request: what is sent along, and what the address itself carries.
fn address(judge: &mut Judge<'_>, url: &str, sent: &str, sends: bool) {
    if url.starts_with("file://") {
        return;
    }
    if sends || sent.contains(SECRET) {
        judge.send(url, sent, "sends data to another machine");
    }
    if url.contains(SECRET) {
        judge.send(url, url, "the address carries data");
    } else if !is_known(url) && !judge.is_own_host(url) {
        judge.ask(Class::NetworkExfiltration, "the address is only known at run time and may carry data");
    } else if !is_known(sent) && !judge.is_own_host(url) && !sends {
        judge.ask(Class::NetworkExfiltration, "the request is only known at run time and may carry data");
    }
}

fn downloaded(judge: &mut Judge<'_>, outputs: &[Field]) {
    for output in outputs {
        if output.text == "-" || output.text == "/dev/null" {
            continue;
        }
        judge.write(output, Verb::Create);
        judge.made_elsewhere(&output.text);
    }
}

const WGET_VALUES: [&str; 20] = [
    "-O",
    "--output-document",
    "-o",
    "--output-file",
    "-P",
    "--directory-prefix",
    "--post-file",
    "--post-data",
    "--body-file",
    "--body-data",
    "--header",
    "-U",
    "--user-agent",
    "-e",
    "--execute",
    "-i",
    "--input-file",
    "-t",
    "-T",
    "--tries",
];

pub(super) fn wget(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let parsed = options::split(
        call.args(),
        |name| {
            WGET_VALUES.contains(&name)
                || matches!(
                    name,
                    "--timeout"
                        | "--method"
                        | "--use-askpass"
                        | "--referer"
                        | "-a"
                        | "-w"
                        | "-l"
                        | "--config"
                        | "--save-cookies"
                        | "--rejected-log"
                        | "--warc-file"
                )
        },
        false,
    );
    let mut sent = String::new();
    let mut sends = false;
    let mut outputs: Vec<Field> = Vec::new();
    for (option, value) in &parsed.options {
        let text = value.as_ref().map(|value| value.text.clone()).unwrap_or_default();
        match option.as_str() {
            "--post-file" | "--body-file" => {
                sends = true;
                sent.push_str(&from(judge, call, &text));
            }
            "--post-data" | "--body-data" => {
                sends = true;
                sent.push_str(&text);
            }
            "--header" | "-U" | "--user-agent" | "--referer" => sent.push_str(&text),
            "-O" | "--output-document" | "-o" | "--output-file" | "-a" => outputs.extend(value.clone()),
            "-P" | "--directory-prefix" => {
                outputs.extend(value.clone());
            }
            "-e" | "--execute" if text.contains("proxy") => {
                judge.deny(Class::NetworkExfiltration, "routes the connection through another machine");
            }
            "--use-askpass" => judge.run_program(&text),
            "--config" => judge.unknown("`wget` reads its options from a file"),
            "--save-cookies" | "--rejected-log" | "--warc-file" => {
                if let Some(file) = value {
                    judge.write(file, Verb::Create);
                }
            }
            _ => {}
        }
    }
    for url in &parsed.operands {
        address(judge, &url.text, &sent, sends);
    }
    let printed = outputs.iter().any(|output| output.text == "-");
    if outputs.is_empty() && !parsed.has(&["--spider"]) {
        outputs.extend(parsed.operands.iter().map(|url| Field::plain(base_of(&url.text))));
    }
    downloaded(judge, &outputs);
    if printed { REMOTE.to_string() } else { String::new() }
}

/// The first operand of `ssh`: the machine to connect to.
fn destination<'w>(words: &[&'w str]) -> &'w str {
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match word.strip_prefix('-') {
            None => return word,
            // Options that take the next word as their value.
            Some(option) if option.len() == 1 && "BbcDEeFIiJLlmOoPpQRSWw".contains(option) => _ = rest.next(),
            Some(_) => {}
        }
    }
    ""
}

pub(super) fn ssh(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    if call.args().iter().all(|arg| matches!(arg.text.as_str(), "-V" | "-G" | "-Q")) && !call.args().is_empty() {
        return UNKNOWN.to_string();
    }
    let words = texts(call.args());
    for (at, word) in words.iter().enumerate() {
        let option = word
            .strip_prefix("-o")
            .map(|rest| if rest.is_empty() { words.get(at + 1).copied().unwrap_or_default() } else { rest });
        if let Some(option) = option
            && ["proxycommand", "localcommand", "knownhostscommand", "permitlocalcommand"]
                .iter()
                .any(|name| option.trim().to_ascii_lowercase().starts_with(name))
        {
            let command = option.split_once(['=', ' ']).map_or("", |(_, command)| command).to_owned();
            judge.run_argument(&command);
            judge.unknown("`ssh` runs a command on this machine");
        }
    }
    let mut what: String = call.input.clone().unwrap_or_default();
    for word in &words {
        if !word.starts_with('-') && call.name == "scp" && !is_remote(word) {
            let read = judge.read(word);
            what.push_str(&read);
        }
        what.push_str(word);
    }
    let own = words.iter().any(|word| !word.starts_with('-') && judge.is_own_host(word));
    if !own || call.name != "ssh" {
        let host = if call.name == "scp" { "" } else { destination(&words) };
        judge.send(host, &what, "connects to another machine");
    } else {
        judge.ask(Class::PrivilegeEscalation, "logs in to this machine");
    }
    REMOTE.to_string()
}

/// A browser that is given an address asks for it.
pub(super) fn open(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    for word in texts(call.args()).into_iter().filter(|word| word.contains("://")) {
        address(judge, word, "", false);
    }
    UNKNOWN.to_string()
}

/// A name that is looked up is sent to others.
pub(super) fn lookup(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    for word in texts(call.args()) {
        if word.contains(SECRET) {
            judge.deny(Class::NetworkExfiltration, "the name that is looked up contains a secret");
        } else if !is_known(word) && call.name != "getent" {
            judge.ask(Class::NetworkExfiltration, "the name that is looked up may carry data");
        }
    }
    let words = texts(call.args());
    if call.name == "dig"
        && words
            .iter()
            .any(|word| *word == "-f" || word.starts_with('@') && is_known(word) && judge.is_own_host(&word[1..]))
    {
        judge.ask(Class::NetworkExfiltration, "looks up names from a file");
    }
    blend(words)
}

pub(super) fn netcat(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let words = texts(call.args());
    let probes = words.iter().any(|word| word.starts_with('-') && word.contains('z'));
    let runs = words
        .iter()
        .any(|word| word.starts_with('-') && (word.contains('e') || word.contains('c')) && !word.starts_with("--"));
    if runs {
        judge.deny(Class::RemoteCode, "gives another machine a shell on this one");
    }
    let own = words.iter().any(|word| judge.is_own_host(word));
    if probes && own || words == ["-h"] {
        return UNKNOWN.to_string();
    }
    let what = call.input.clone().unwrap_or_default();
    if what.contains(SECRET) {
        judge.deny(Class::NetworkExfiltration, "sends secrets to another machine");
    } else {
        judge.ask(Class::NetworkExfiltration, "connects to another machine");
    }
    REMOTE.to_string()
}
