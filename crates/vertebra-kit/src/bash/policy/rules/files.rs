//! Copying, moving, changing, packing.

use super::{
    super::{
        Class,
        fields::{Field, texts},
        invoke::Call,
        judge::Judge,
        options::{self, Parsed},
        places::{Place, Verb, is_below},
        rules,
        scope::Made,
        table,
        value::{UNKNOWN, shown},
    },
    delete::delete,
    network::is_remote,
};

/// Returns the sources and the target of `cp`, `mv` and similar programs.
fn ends(call: &Call<'_>, values: &[&str]) -> (Vec<Field>, Option<Field>, Parsed) {
    let parsed = options::split(call.args(), |name| values.contains(&name), false);
    let mut operands = parsed.operands.clone();
    let target = parsed.value(&["-t", "--target-directory"]).cloned().or_else(|| operands.pop());
    (operands, target, parsed)
}

pub(super) fn mv(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let (sources, target, _) = ends(call, &["-t", "--target-directory", "-S", "--suffix"]);
    let leaves = target.as_ref().is_some_and(|target| judge.place(&target.text) != Place::Inside);
    for source in &sources {
        match judge.place(&source.text) {
            // A file that is moved out of the working folder is deleted from it.
            Place::Inside if leaves || source.text.trim_end_matches('/').rsplit('/').next() == Some(".git") => {
                delete(judge, source, true);
            }
            Place::Outside => judge.ask(
                Class::WriteOutside,
                format!("moves {}, which is outside the working folder", shown(&source.text)),
            ),
            Place::Unknown => {}
            _ => judge.write(source, Verb::Destroy),
        }
    }
    if let Some(target) = target {
        if target.text.starts_with("/dev/") {
            judge.deny(Class::RecursiveDelete, "moves files into /dev, where they are lost");
        }
        judge.write(&target, Verb::Create);
        follow_copies(judge, &sources, &target);
    }
    String::new()
}

pub(super) fn copy(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let values = [
        "-t",
        "--target-directory",
        "-S",
        "--suffix",
        "-m",
        "--mode",
        "-o",
        "-g",
        "--owner",
        "--group",
        "--strip-program",
    ];
    let (sources, target, parsed) = ends(call, &values);
    if call.name == "install" {
        if parsed.value(&["-m", "--mode"]).is_some_and(|mode| sets_user(&mode.text)) {
            judge.deny(Class::PrivilegeEscalation, "creates a setuid or setgid program");
        }
        if let Some(program) = parsed.value(&["--strip-program"]) {
            judge.run_argument(&program.text.clone());
        }
        if parsed.has(&["-d", "--directory"]) {
            for folder in &sources {
                judge.write(folder, Verb::Create);
            }
        }
    }
    let Some(target) = target else { return String::new() };
    for source in &sources {
        judge.look(&source.text);
        if matches!(judge.place(&source.text), Place::Device) {
            judge.ask(Class::SecretRead, "copies from a device");
        }
    }
    let symbolic = call.name == "ln" && sources.is_empty();
    if !symbolic {
        let emptied = sources.iter().any(|source| source.text == "/dev/null");
        judge.write(&target, if emptied { Verb::Destroy } else { Verb::Create });
        follow_copies(judge, &sources, &target);
        if call.name == "ln" {
            leads_outside(judge, &sources, &target);
        }
    }
    String::new()
}

/// A link to a place outside makes that place look like the working folder's own.
fn leads_outside(judge: &mut Judge<'_>, sources: &[Field], target: &Field) {
    for source in sources {
        let place = judge.place(&source.text);
        let foreign =
            matches!(place, Place::Outside | Place::Persistent | Place::System) && source.text.starts_with('/');
        let program = source.text.contains("/bin/");
        if foreign && !program && judge.place(&target.text) == Place::Inside {
            judge.ask(
                Class::WriteOutside,
                format!("creates a link to {}, outside the working folder", shown(&source.text)),
            );
        }
        follow_link(judge, source, target);
    }
}

/// Notes where a link leads. A relative one begins where the link is; a link may be put into a folder.
fn follow_link(judge: &mut Judge<'_>, source: &Field, target: &Field) {
    let Some(link) = judge.resolved(&target.text) else { return };
    let base = source.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let folder = link.rsplit_once('/').map_or("", |(folder, _)| folder);
    for (link, folder) in [(link.clone(), folder), (format!("{link}/{base}"), link.as_str())] {
        let from =
            if source.text.starts_with(['/', '~']) { source.text.clone() } else { format!("{folder}/{}", source.text) };
        if let Some(to) = judge.resolved(&from).filter(|to| !is_below(to, &link)) {
            judge.scope.link(link, to);
        }
    }
}

/// What was made, and copies of programs, keep their nature under a new name.
fn follow_copies(judge: &mut Judge<'_>, sources: &[Field], target: &Field) {
    let Some(to) = judge.resolved(&target.text) else { return };
    for source in sources {
        // The target may be a folder.
        let name = source.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        if name == "." {
            judge.write_any_below(&to);
        } else {
            judge.write_for_git(&format!("{to}/{name}"));
        }
        let Some(from) = judge.resolved(&source.text) else { continue };
        let base = from.rsplit('/').next().unwrap_or_default().to_owned();
        let installed = from.starts_with("/bin/") || from.starts_with("/usr/") || from.starts_with("/sbin/");
        let made = match judge.scope.made(&from).cloned() {
            Some(made) => made,
            None if installed && (rules::rule(&base).is_some() || table::program(&base).is_some()) => {
                Made::Program(base.clone())
            }
            None if installed && from.contains("/bin/") => Made::Text(UNKNOWN.to_string()),
            None => continue,
        };
        judge.scope.make(format!("{to}/{base}"), made.clone());
        judge.scope.make(to.clone(), made);
    }
}

pub(super) fn tee(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let parsed = options::split(call.args(), |_| false, false);
    let input = call.input.clone().unwrap_or_else(|| UNKNOWN.to_string());
    for operand in &parsed.operands {
        judge.write(operand, Verb::Create);
        if operand.text.contains("sudoers") {
            judge.deny(Class::PrivilegeEscalation, "changes who may run commands as another user (sudoers)");
        }
        if let Some(path) = judge.resolved(&operand.text) {
            judge.scope.make(path, Made::Text(input.clone()));
        }
    }
    input
}

pub(super) fn dd(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let mut read = String::new();
    for arg in call.args() {
        if let Some(path) = arg.text.strip_prefix("of=") {
            judge.write(&Field::plain(path), Verb::Destroy);
        } else if let Some(path) = arg.text.strip_prefix("if=") {
            read = judge.look(path);
        }
    }
    let words = texts(call.args());
    if words.iter().any(|word| matches!(*word, "if=/dev/zero" | "if=/dev/urandom" | "if=/dev/random"))
        && !words.iter().any(|word| word.starts_with("count="))
    {
        judge.ask(Class::SystemDestruction, "writes endless data, which fills the disk");
    }
    if read.is_empty() { call.input.clone().unwrap_or_default() } else { read }
}

/// A mode that lends a program the rights of its owner or group.
fn sets_user(mode: &str) -> bool {
    let octal = mode.trim_start_matches(['=', '+', '0']);
    if octal.bytes().all(|digit| digit.is_ascii_digit()) {
        return octal.len() >= 4
            && matches!(octal.as_bytes()[octal.len() - 4], b'2' | b'4' | b'5' | b'6' | b'7' | b'3');
    }
    mode.split(',').any(|part| part.split_once(['+', '=']).is_some_and(|(_, rights)| rights.contains('s')))
}

pub(super) fn modes(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let parsed = options::split(call.args(), |name| name == "--reference" || name == "--from", false);
    let recursive = parsed.has(&["-R", "--recursive"]);
    // A mode may begin with a minus, as in `-x`.
    let removes =
        call.name == "chmod" && parsed.options.iter().any(|(name, _)| matches!(name.as_str(), "-x" | "-w" | "-r"));
    let targets = if removes { &parsed.operands[..] } else { parsed.operands.get(1..).unwrap_or_default() };
    let mode = parsed.operands.first().map(|mode| mode.text.clone()).unwrap_or_default();
    if call.name == "chmod" && sets_user(&mode) {
        judge.deny(Class::PrivilegeEscalation, "creates a setuid or setgid program");
    }
    if call.name == "chown" && mode.split(':').next().is_some_and(|owner| matches!(owner, "root" | "0")) {
        judge.deny(Class::PrivilegeEscalation, "makes root the owner of files");
    }
    for target in targets {
        match judge.place(&target.text) {
            Place::Unknown => {}
            Place::Outside | Place::Persistent if !recursive => {
                let target = shown(&target.text);
                judge.ask(Class::WriteOutside, format!("changes the rights to {target}, outside the working folder"));
            }
            _ => judge.write(target, Verb::Destroy),
        }
    }
    String::new()
}

pub(super) fn rsync(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let values = [
        "-e",
        "--rsh",
        "--rsync-path",
        "--exclude",
        "--include",
        "--exclude-from",
        "--files-from",
        "--log-file",
        "-f",
        "--filter",
        "--port",
        "--bwlimit",
    ];
    let (sources, target, parsed) = ends(call, &values);
    for name in ["-e", "--rsh", "--rsync-path"] {
        if let Some(command) = parsed.value(&[name]) {
            let command = command.text.clone();
            if name == "--rsync-path" || command.split_whitespace().next() != Some("ssh") || command.contains("Command")
            {
                judge.run_argument(&command);
            }
        }
    }
    let Some(target) = target else { return String::new() };
    let mut read = String::new();
    for source in &sources {
        if is_remote(&source.text) {
            let base = source.text.rsplit('/').next().unwrap_or_default();
            judge.made_elsewhere(&format!("{}/{base}", target.text));
            judge.made_elsewhere(&target.text);
        } else {
            read.push_str(&judge.read(&source.text));
        }
    }
    if is_remote(&target.text) {
        judge.send(&target.text, &read, "copies files to another machine");
        return String::new();
    }
    let deletes = parsed.options.iter().any(|(name, _)| name.starts_with("--del"));
    judge.write(&target, if deletes { Verb::Destroy } else { Verb::Create });
    for source in &sources {
        // With a slash at its end, what is in it is copied, without its name.
        let name = source.text.rsplit('/').next().unwrap_or_default();
        judge.write_any_below(&format!("{}/{name}", target.text));
    }
    if parsed.has(&["--remove-source-files"]) {
        for source in &sources {
            judge.write(source, Verb::Destroy);
        }
    }
    let whole = judge.resolved(&target.text).is_some_and(|path| is_below(&judge.ground.folder, &path));
    if deletes && whole {
        judge.ask(Class::RecursiveDelete, "deletes every file that is not in the source");
    }
    String::new()
}

/// Pictures: some names of files do more than name one.
pub(super) fn images(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    for word in texts(call.args()) {
        match word.split_once(':') {
            Some(("ephemeral", path)) => delete(judge, &Field::plain(path), false),
            Some(("msl" | "mvg" | "inline" | "url" | "http" | "https" | "ftp", _)) => {
                judge.unknown(format!("`{}` reads or runs {}", call.name, shown(word)));
            }
            _ => {}
        }
    }
    super::packages::by_table(judge, call)
}

pub(super) fn sed(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let parsed =
        options::split(call.args(), |name| matches!(name, "-e" | "-f" | "--expression" | "--file" | "-l"), false);
    let mut scripts: Vec<String> = parsed
        .options
        .iter()
        .filter(|(name, _)| matches!(name.as_str(), "-e" | "--expression"))
        .filter_map(|(_, value)| value.as_ref().map(|value| value.text.clone()))
        .collect();
    let mut files = &parsed.operands[..];
    let from_file = parsed.value(&["-f", "--file"]).map(|file| file.text.clone());
    if let Some(file) = from_file {
        scripts.push(judge.read(&file));
    } else if scripts.is_empty()
        && let Some((script, rest)) = files.split_first()
    {
        scripts.push(script.text.clone());
        files = rest;
    }
    for script in &scripts {
        sed_script(judge, script);
    }
    let in_place = parsed.options.iter().any(|(name, _)| name == "-i" || name.starts_with("--in-place"));
    let mut read = call.input.clone().unwrap_or_default();
    for file in files {
        read.push_str(&judge.look(&file.text));
        if in_place {
            judge.write(file, Verb::Destroy);
        }
    }
    let words = texts(call.args());
    super::super::value::blend(words.into_iter().chain([read.as_str()]))
}

/// `e` runs a command, `w` writes a file. Both follow an address or end a substitution.
fn sed_script(judge: &mut Judge<'_>, script: &str) {
    for line in script.split(['\n', ';']) {
        let command = line.trim_start_matches(|c: char| {
            c.is_ascii_digit() || matches!(c, ' ' | ',' | '$' | '!' | '{' | '}' | '+' | '~')
        });
        let command = match command.strip_prefix('/') {
            Some(rest) => rest.split_once('/').map_or("", |(_, rest)| rest).trim_start_matches([' ', '!', '{']),
            None => command,
        };
        if let Some(rest) = command.strip_prefix('e')
            && (rest.is_empty() || rest.starts_with(' '))
        {
            judge.unknown("the `e` command of sed runs shell commands");
            judge.run_argument(rest.trim());
        } else if let Some(path) = command.strip_prefix("w ").or_else(|| command.strip_prefix("W ")) {
            judge.write(&Field::plain(path.trim()), Verb::Create);
        } else if let Some(rest) = command.strip_prefix('s') {
            substitution(judge, rest);
        }
    }
}

fn substitution(judge: &mut Judge<'_>, rest: &str) {
    let Some(mark) = rest.chars().next().filter(|c| !c.is_alphanumeric() && !c.is_whitespace()) else { return };
    let parts: Vec<&str> = rest[mark.len_utf8()..].split(mark).collect();
    let Some((flags, replaced)) = parts.split_last() else { return };
    let (flags, path) = flags.split_once('w').map_or((*flags, None), |(flags, path)| (flags, Some(path)));
    if flags.contains('e') {
        judge.unknown("the `e` flag of sed runs the result as a shell command");
        let command = replaced.get(1..).unwrap_or_default().join("/").replace("\\/", "/");
        judge.run_argument(&command);
    }
    if let Some(path) = path {
        judge.write(&Field::plain(path.trim()), Verb::Create);
    }
}
