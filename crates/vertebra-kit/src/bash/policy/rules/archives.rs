//! Archives: what is packed, unpacked, and deleted once it is packed.

use super::{
    super::{
        Class,
        fields::{Field, texts},
        invoke::Call,
        judge::Judge,
        options::{self, Parsed},
        places::Verb,
        value::{REMOTE, UNKNOWN, blend},
    },
    delete::delete,
    network::is_remote,
    packages::by_table,
};

const ARCHIVE_VALUES: [&str; 14] = [
    "-f",
    "--file",
    "-C",
    "--directory",
    "-X",
    "-T",
    "--files-from",
    "--exclude",
    "--exclude-from",
    "--transform",
    "-b",
    "--strip-components",
    "--owner",
    "--group",
];

pub(super) fn tar(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let mut args = call.args().to_vec();
    // The first word may be letters without a dash.
    if let Some(first) = args.first_mut()
        && !first.text.starts_with('-')
        && first.text.len() < 8
        && first.text.starts_with(['c', 'x', 't', 'r', 'u'])
    {
        first.text.insert(0, '-');
    }
    let runs = [
        "--to-command",
        "--use-compress-program",
        "-I",
        "--checkpoint-action",
        "--info-script",
        "-F",
        "--new-volume-script",
        "--rsh-command",
        "--rmt-command",
    ];
    let parsed = options::split(&args, |name| ARCHIVE_VALUES.contains(&name) || runs.contains(&name), false);
    for (option, value) in &parsed.options {
        let run = runs.iter().any(|run| run == option || option.len() > 5 && run.starts_with(option.as_str()));
        if let (true, Some(value)) = (run, value) {
            let command = value.text.strip_prefix("exec=").unwrap_or(&value.text).to_owned();
            judge.run_argument(&command);
        }
    }
    let extracts = parsed.has(&["-x", "--extract", "--get"]);
    let archive = parsed.value(&["-f", "--file"]).cloned();
    let folder = parsed.value(&["-C", "--directory"]).cloned();
    if extracts {
        if parsed.has(&["-P", "--absolute-names"]) {
            judge.ask(Class::WriteOutside, "unpacks files to absolute paths that the archive chooses");
        }
        let content = match &archive {
            Some(archive) if archive.text != "-" => judge.read(&archive.text),
            _ => call.input.clone().unwrap_or_default(),
        };
        unpacked(judge, &content, &folder.unwrap_or_else(|| Field::plain(".")));
        return UNKNOWN.to_string();
    }
    let mut read = String::new();
    let sources: Vec<Field> = parsed.operands.iter().map(|operand| below(folder.as_ref(), operand)).collect();
    if parsed.has(&["-c", "--create"]) {
        for source in &sources {
            read.push_str(&judge.read(&source.text));
        }
        match &archive {
            Some(archive) if archive.text == "-" => {}
            Some(archive) if is_remote(&archive.text) => {
                judge.ask(Class::NetworkExfiltration, "writes the archive to another machine");
            }
            Some(archive) => judge.write(archive, Verb::Create),
            None => {}
        }
    }
    if has_long(&parsed, "--remove-files") {
        for source in &sources {
            delete(judge, source, true);
        }
    }
    blend([read.as_str()])
}

/// Returns whether a long option is given, in full or abbreviated.
fn has_long(parsed: &Parsed, long: &str) -> bool {
    parsed.options.iter().any(|(name, _)| name.len() > 5 && long.starts_with(name.as_str()))
}

/// A path, from the folder that an option names.
fn below(folder: Option<&Field>, path: &Field) -> Field {
    match folder {
        Some(folder) if !path.text.starts_with(['/', '~']) => {
            Field { text: format!("{}/{}", folder.text, path.text), glob: path.glob }
        }
        _ => path.clone(),
    }
}

/// `cpio` and `pax` copy files when they neither pack nor unpack: `cpio -p FOLDER`, `pax -rw FILE… FOLDER`.
pub(super) fn copies(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let parsed = options::split(
        call.args(),
        |name| {
            matches!(
                name,
                "-D" | "--directory"
                    | "-F"
                    | "--file"
                    | "-f"
                    | "-H"
                    | "--format"
                    | "-R"
                    | "--owner"
                    | "-s"
                    | "-x"
                    | "--rsh-command"
            )
        },
        false,
    );
    if let Some(command) = parsed.value(&["--rsh-command"]) {
        judge.run_argument(&command.text.clone());
    }
    let folder = parsed.value(&["-D", "--directory"]).cloned();
    let has = |names: &[&str]| parsed.has(names);
    let passes = has(&["-p", "--pass-through"]) || call.name == "pax" && has(&["-r"]) && has(&["-w"]);
    if let (true, Some(target)) = (passes, parsed.operands.last()) {
        judge.write(&below(folder.as_ref(), target), Verb::Create);
    } else if has(&["-i", "--extract"]) || call.name == "pax" && has(&["-r"]) {
        let content = match parsed.value(&["-F", "--file", "-f"]) {
            Some(archive) => judge.read(&archive.text.clone()),
            None => call.input.clone().unwrap_or_default(),
        };
        unpacked(judge, &content, &folder.unwrap_or_else(|| Field::plain(".")));
    } else if let Some(archive) = parsed.value(&["-F", "--file", "-f"]) {
        judge.write(&archive.clone(), Verb::Create);
    }
    blend(texts(call.args()).into_iter().chain(call.input.as_deref()))
}

/// `zip -m` deletes what it has packed.
pub(super) fn zip(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let parsed =
        options::split(call.args(), |name| matches!(name, "-i" | "-x" | "-TT" | "-b" | "-P" | "-t" | "-n"), false);
    if parsed.has(&["-m", "--move"]) {
        parsed.operands.iter().skip(1).for_each(|source| delete(judge, source, true));
    }
    by_table(judge, call)
}

/// `patch` without a file changes those that the patch names.
pub(super) fn patch(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let parsed = options::split(call.args(), |name| matches!(name, "-i" | "-d" | "-o" | "-p" | "-r"), false);
    if parsed.operands.is_empty() {
        judge.write_any_below(&parsed.value(&["-d", "--directory"]).map_or(".".to_owned(), |to| to.text.clone()));
    }
    by_table(judge, call)
}

/// What is unpacked comes from where the archive came from.
fn unpacked(judge: &mut Judge<'_>, content: &str, folder: &Field) {
    judge.write(folder, Verb::Create);
    judge.write_any_below(&folder.text);
    if content.contains(REMOTE) {
        judge.made_elsewhere(&folder.text);
    }
}

/// `unzip ARCHIVE -d FOLDER`, `7z x ARCHIVE -oFOLDER`, `7z a ARCHIVE FILE…`.
pub(super) fn unpack(judge: &mut Judge<'_>, call: &Call<'_>) -> String {
    let parsed = options::split(call.args(), |name| matches!(name, "-d" | "-x" | "-P"), false);
    let mut operands = parsed.operands.iter();
    let verb = if call.name == "unzip" { "x" } else { operands.next().map_or("", |verb| verb.text.as_str()) };
    let Some(archive) = operands.next() else { return UNKNOWN.to_string() };
    let attached = call.args().iter().find_map(|arg| arg.text.strip_prefix("-o").filter(|folder| !folder.is_empty()));
    let folder = parsed.value(&["-d"]).cloned().or_else(|| attached.map(Field::plain));
    match verb {
        "x" | "e" if !parsed.has(&["-l", "-t", "-p", "-Z"]) => {
            let content = judge.read(&archive.text);
            unpacked(judge, &content, &folder.unwrap_or_else(|| Field::plain(".")));
        }
        "a" | "u" | "d" | "m" => {
            judge.write(archive, Verb::Create);
            let deletes =
                verb == "m" || texts(call.args()).iter().any(|word| matches!(*word, "-sdel" | "-df" | "-dr" | "-dw"));
            for source in operands {
                judge.look(&source.text);
                if deletes {
                    delete(judge, source, true);
                }
            }
        }
        _ => return judge.read(&archive.text),
    }
    UNKNOWN.to_string()
}
