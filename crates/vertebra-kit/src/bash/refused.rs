//! What the sandbox refused a command, in words for the model and for people.

use std::{cell::LazyCell, fs, path::Path};

use super::{
    needs::NotGrantable,
    process::{Ended, How},
    proxy::PRIVATE,
    sandbox::Refusal,
    text,
};

/// How many refusals are shown.
const SHOWN: usize = 5;

/// The port that names are looked up at.
const NAMES: u16 = 53;

/// What programs print when the kernel has refused something.
const COMPLAINTS: [&str; 5] =
    ["Permission denied", "Operation not permitted", "Read-only file system", "EACCES", "EPERM"];

/// Programs that leave out a file which they cannot write, and go on with the next.
const GO_ON: [&str; 3] = ["cp", "rsync", "tar"];

/// Returns whether a text says that something was refused.
fn complains(text: &str) -> bool {
    COMPLAINTS.iter().any(|complaint| text.contains(complaint))
}

/// The refusals worth a remark: those of a command that failed or complains, because programs try many things that they do
/// not need. A network that was refused is also worth one if a part of the command may have failed.
pub(super) fn remarks(
    ended: &Ended,
    (command, folder, home): (&str, &Path, Option<&Path>),
    no_private_network: Option<&str>,
    (by_proxy, printed): (&[String], &LazyCell<String, impl FnOnce() -> String>),
    hidden: impl FnOnce() -> Vec<String>,
    closed: impl Fn(&str) -> Option<NotGrantable>,
) -> Vec<String> {
    let failed = match &ended.how {
        How::Exited(status) => !status.success(),
        How::TimedOut => true,
    };
    // The exit code of `make 2>&1 | tail` is that of `tail`.
    let failed = failed || (!ended.refused.is_empty() && complains(printed.as_str()));
    // After `&&` nothing runs if something has failed. After all else the exit code says only how the last part ended.
    let may_have_failed = failed || command.replace("&&", "").contains(['|', ';', '&', '\n']);
    let mut remarks: Vec<String> = by_proxy.iter().map(|host| refused_by_proxy(host)).collect();
    // Programs do without their caches. What matters they complain about.
    let is_of_a_program = |path: &str| is_hidden_below(home, path);
    let matters = |path: &str| {
        let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
        !is_of_a_program(path) || printed.contains(path) || (complains(printed.as_str()) && printed.contains(&*name))
    };
    let left_out = |path: &str| left_out_by(path, command, printed);
    // Husky writes its folder and git's settings.
    let is_of_husky = |path: &str| {
        let texts = [path, command, printed.as_str()];
        (path.contains("husky") || path.contains("/.git/")) && texts.iter().any(|text| text.contains("husky"))
    };
    let advice = |path: &str| match closed(path) {
        _ if is_of_husky(path) && left_out(path).is_none() => {
            "; with `HUSKY=0` in its environment, a command leaves git hooks alone".to_owned()
        }
        Some(why) => format!("; it {why}"),
        None if is_of_a_program(path) && !Path::new(path).starts_with(folder) => {
            "; most programs do without such a folder: ask for `write` in `needs` only if this one fails without it"
                .to_owned()
        }
        None => "; ask for `write` in `needs`".to_owned(),
    };
    let said = ended.refused.iter().filter_map(|refusal| match refusal {
        Refusal::Address(address) if address.port() == NAMES => may_have_failed.then(|| {
            "the sandbox blocked a name lookup: names are resolved only for HTTP and HTTPS to hosts that a person opened; \
             ask for `domains` or `network` in `needs`"
                .to_owned()
        }),
        Refusal::Address(address) => may_have_failed
            .then(|| format!("the sandbox blocked network access to {address}; ask for `network` in `needs`")),
        Refusal::Port(port) => (may_have_failed && listens_here(*port)).then(|| {
            format!(
                "the sandbox blocked port {port} of this machine: commands reach its services only if a person names \
                 the port; ask for `ports` in `needs`"
            )
        }),
        Refusal::Socket => {
            if !may_have_failed {
                return None;
            }
            let why = no_private_network.filter(|why| !why.is_empty());
            let why = why.map(|why| format!(" (no network namespace: {why})")).unwrap_or_default();
            Some(format!(
                "the sandbox blocked network access, the loopback interface included{why}; ask for `network` in `needs`"
            ))
        }
        Refusal::Protected(path) => failed.then(|| {
            let left_out = left_out(path)
                .map(|program| format!(": `{program}` left it out and went on with the rest"))
                .unwrap_or_default();
            let (path, advice) = (short(path, folder), advice(path));
            format!("the sandbox blocked a change of {path}, which is protected{left_out}{advice}")
        }),
        Refusal::Outside(path) => (failed && matters(path)).then(|| {
            let (path, advice) = (short(path, folder), advice(path));
            format!("the sandbox blocked a change of {path}, outside of the writable folders{advice}")
        }),
        Refusal::UnixSocket(path) => may_have_failed.then(|| {
            format!(
                "the sandbox closes Unix sockets such as {}, because who listens there acts outside of the sandbox; a \
                 person has to run this command",
                path.replace(char::is_control, "?")
            )
        }),
        Refusal::Terminal => may_have_failed.then(|| {
            "the sandbox has no pseudo-terminals here, because a command that opens them could type into those of others; run \
             the program without one"
                .to_owned()
        }),
        Refusal::Left(names) => Some(format!(
            "{} was left in the background and ended with the command; to keep a server running, run it alone with `background`",
            names.join(", ")
        )),
        Refusal::Call(name) => (failed && is_cause(name, printed))
            .then(|| format!("the sandbox blocked the system call `{name}`")),
    });
    let hidden = if may_have_failed { hidden() } else { Vec::new() };
    let signal = (sends_signals(command) && printed.contains("Operation not permitted")).then(|| {
        "the sandbox blocked a signal to a process that no command of this session started; a person has to send it"
            .to_owned()
    });
    for remark in said.chain(signal).chain(hidden) {
        if !remarks.contains(&remark) {
            remarks.push(remark);
        }
    }
    let more = remarks.len().saturating_sub(SHOWN);
    remarks.truncate(SHOWN);
    if more > 0 {
        remarks.push(format!("the sandbox blocked {more} more"));
    }
    remarks
}

/// The remark on a host that the proxy refused.
fn refused_by_proxy(host: &str) -> String {
    let own = [" 127.", " ::1", " ::ffff:127."];
    let is_of_this_machine = own.iter().any(|address| host.contains(&format!("{PRIVATE}{address}")));
    let advice = if is_of_this_machine {
        "ask for `ports` in `needs`"
    } else if host.contains(PRIVATE) {
        "`needs` opens public hosts only: a person has to open private ones, with `/sandbox network on` or `--network on`"
    } else {
        "ask for `network` or `domains` in `needs`"
    };
    format!("the sandbox blocked network access to {host}; {advice}")
}

/// Whether a path is a hidden file of the home folder, or in a hidden folder there.
fn is_hidden_below(home: Option<&Path>, path: &str) -> bool {
    let below = home.and_then(|home| Path::new(path).strip_prefix(home).ok());
    below.is_some_and(|below| below.to_string_lossy().starts_with('.'))
}

/// Whether a refused system call explains a failure. Programs try calls that they do not need; if one stops them, they
/// complain or print nothing at all.
fn is_cause(call: &str, printed: &str) -> bool {
    complains(printed) || printed.contains(call) || printed.trim().is_empty()
}

/// Returns the program that went on without a file, if one says so.
fn left_out_by(path: &str, command: &str, printed: &str) -> Option<&'static str> {
    let name = Path::new(path).file_name()?.to_string_lossy();
    let says = |program: &str| {
        let mut lines = printed.lines().filter(|line| line.starts_with(program));
        lines.any(|line| line[program.len()..].starts_with(':') && line.contains(&*name))
    };
    let runs = |program: &&str| command.split(|c: char| !c.is_alphanumeric() && c != '-').any(|word| word == *program);
    GO_ON.into_iter().filter(runs).find(|program| says(program))
}

/// Whether a command sends signals. Nobody tells which of them the kernel refused.
fn sends_signals(command: &str) -> bool {
    let mut words = command.split(|letter: char| !letter.is_alphanumeric());
    words.any(|word| matches!(word, "kill" | "pkill" | "killall" | "skill" | "fuser"))
}

/// A path as the command would write it. It may contain anything, and people read it.
fn short(path: &str, folder: &Path) -> String {
    let short = Path::new(path).strip_prefix(folder).map_or(path.to_owned(), |below| below.display().to_string());
    text::clean(short.replace(char::is_control, "?").as_bytes())
}

/// Whether a program on this machine listens on a port.
fn listens_here(port: u16) -> bool {
    const LISTENS: &str = "0A";
    let ending = format!(":{port:04X}");
    let tables = ["tcp", "tcp6"].iter().map(|table| fs::read_to_string(format!("/proc/net/{table}")));
    tables.flatten().any(|table| {
        table.lines().skip(1).any(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            fields.get(3) == Some(&LISTENS) && fields.get(1).is_some_and(|local| local.ends_with(&ending))
        })
    })
}
