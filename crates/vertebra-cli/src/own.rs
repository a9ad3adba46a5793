//! Finds commands by which an agent would answer for a person or change its own policy: in the command itself, and in the
//! script files that it runs. Both the built-in agent and `vertebra hook` ask here.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use vertebra::{
    Attach as _, BeforeToolUse, Capability, HookOptions as _, Kit, ask, deny, proceed,
    shell::{CommandLine, ParseLimits, parse, quote},
};
use vertebra_kit::bash::{
    CWD,
    policy::{Class, Decision, Ground, judge, judge_script},
};

/// The largest script that is read.
const MAX_SCRIPT_BYTES: u64 = 256 * 1024;

/// How many script files of one command are read.
const MAX_SCRIPTS: usize = 16;

/// Programs that run a file that they are given, or what they read.
const INTERPRETERS: &[&str] = &[
    ".",
    "ash",
    "awk",
    "bash",
    "bun",
    "dash",
    "deno",
    "eval",
    "fish",
    "gawk",
    "ksh",
    "lua",
    "mawk",
    "node",
    "nodejs",
    "osascript",
    "perl",
    "php",
    "python",
    "python2",
    "python3",
    "ruby",
    "sh",
    "source",
    "tclsh",
    "zsh",
];

/// Variables that name a file which an interpreter runs before anything else.
const BEFORE: &[&str] = &["BASH_ENV", "ENV", "PYTHONSTARTUP"];

/// Programs that run commands from a file of a known name.
const RUNNERS: &[(&str, &[&str])] = &[
    ("bun", &["package.json"]),
    ("gmake", &["GNUmakefile", "makefile", "Makefile"]),
    ("just", &["justfile", "Justfile", ".justfile"]),
    ("make", &["GNUmakefile", "makefile", "Makefile"]),
    ("npm", &["package.json"]),
    ("pnpm", &["package.json"]),
    ("pytest", &["conftest.py"]),
    ("rake", &["Rakefile", "rakefile"]),
    ("task", &["Taskfile.yml", "Taskfile.yaml"]),
    ("yarn", &["package.json"]),
];

/// Marks a part in the outline of a command that is only known when it runs.
const UNKNOWN: char = '…';

const ANSWERS: &str = "an agent cannot answer for a person; the person answers on their own terminal";
const CHANGES: &str = "only a person may change what is trusted, or install or uninstall the policy";

/// Returns what a command decides on in place of a person: a denial if it answers for them, a question if it changes what is
/// trusted or installed. A command whose script cannot be read is not detected.
pub(crate) fn judged(command: &str, ground: &Ground) -> Option<(Decision, &'static str)> {
    let mut left = Left { scripts: MAX_SCRIPTS, judged: MAX_JUDGED, words: MAX_WORDS };
    let found = in_command(command, ground, &mut left)?;
    Some((found, if found == Decision::Deny { ANSWERS } else { CHANGES }))
}

/// What may still be looked at for one command.
struct Left {
    scripts: usize,
    judged: usize,
    words: usize,
}

fn in_command(command: &str, ground: &Ground, left: &mut Left) -> Option<Decision> {
    let judgement = judge(command, ground);
    let mut worst = judgement.classes.contains(&Class::OwnPolicy).then_some(judgement.decision);
    let lines = judgement.outline.iter().filter(|line| line.what == "command").map(|line| line.text.as_str());
    let whole = Whole::of(command, Path::new(&ground.here));
    let mut lines: Vec<Vec<String>> = lines.map(words).collect();
    // What cannot be parsed is read as one command.
    if lines.is_empty() {
        lines.push(whole.words.clone());
    }
    let folders = folders(&lines, Path::new(&ground.here));
    for line in &lines {
        worst = worst.max(in_disguise(line, &whole, ground, left));
        for (path, counts) in folders.iter().flat_map(|here| scripts(line, &whole, here)) {
            if worst == Some(Decision::Deny) || left.scripts == 0 {
                return worst;
            }
            let Some(text) = text_of(&path) else { continue };
            left.scripts -= 1;
            let inner = judge_script(&text).map(|(decision, _)| decision);
            let shell = if is_shell_script(&path, &text) { in_command(&text, ground, left) } else { None };
            worst = worst.max(inner.max(shell).filter(|found| counts == Counts::All || *found == Decision::Deny));
        }
    }
    worst
}

fn words(line: &str) -> Vec<String> {
    words_of(&parse(line, ParseLimits::default()))
}

/// Returns the words of a command line, without quotation marks.
pub(crate) fn words_of(line: &CommandLine) -> Vec<String> {
    line.words().map(|word| word.text().to_owned()).collect()
}

/// How many folders a command may go to.
const MAX_FOLDERS: usize = 8;

/// Returns the folders in which a command may run its parts: the current one, and those that it changes to.
fn folders(lines: &[Vec<String>], here: &Path) -> Vec<PathBuf> {
    let mut found = vec![here.to_owned()];
    for line in lines {
        let goes = line.first().is_some_and(|program| matches!(&**program, "cd" | "pushd"));
        let told = line.windows(2).filter(|pair| goes || FOLDER_OPTIONS.contains(&&*pair[0])).map(|pair| &*pair[1]);
        let attached = line.iter().filter_map(|word| {
            let (option, value) = word.split_once('=')?;
            FOLDER_OPTIONS.contains(&option).then_some(value)
        });
        for name in told.chain(attached) {
            // Each counts from any of those before.
            let next: Vec<PathBuf> = found.iter().map(|folder| folder.join(name)).collect();
            found.extend(next.into_iter().filter(|folder| folder.is_dir()));
            found.truncate(MAX_FOLDERS);
        }
    }
    found
}

/// Options that name the folder in which a program works.
const FOLDER_OPTIONS: &[&str] = &["-C", "--chdir", "--cwd", "--dir", "--directory", "--prefix"];

/// What all parts of a command have in common.
struct Whole {
    words: Vec<String>,
    /// Words inside substitutions, whose output may be run.
    inside: Vec<String>,
    /// Folders that it puts on the search path.
    search: Vec<PathBuf>,
}

impl Whole {
    fn of(command: &str, here: &Path) -> Self {
        let words = words(command);
        let apart = |letter: char| letter.is_whitespace() || "\"'`$(){}<>|;&".contains(letter);
        let runs_output = ["$(", "`", "<("].iter().any(|begin| command.contains(begin));
        let inside = if runs_output { command.split(apart).map(str::to_owned).collect() } else { Vec::new() };
        let search = words.iter().filter_map(|word| word.strip_prefix("PATH=")).flat_map(|value| value.split(':'));
        let folder =
            |name: &str| here.join(name.trim_start_matches("$PWD").trim_start_matches("${PWD}").trim_matches('/'));
        // An absolute folder stays one.
        let search = search.map(|name| if name.starts_with('/') { name.into() } else { folder(name) }).collect();
        Self { words, inside, search }
    }

    /// Returns the file that is started by a name, if the command itself says where.
    fn program(&self, name: &str) -> Option<PathBuf> {
        self.search.iter().map(|folder| folder.join(name)).find(|path| path.is_file())
    }
}

/// Returns what a line decides on if one of its words is this program under another name: a copy, a link, or a program that
/// cannot be read and is told the same words.
fn in_disguise(line: &[String], whole: &Whole, ground: &Ground, left: &mut Left) -> Option<Decision> {
    // Other programs have a command `install` or `trust` too, so what counts is which program it is.
    let is_telling = |word: &String| DECIDE.contains(&word.as_str()) || word.starts_with("--trust");
    let last = line.iter().rposition(is_telling)?;
    let (mut known, mut worst) = (HashMap::new(), None);
    for (at, program) in line[..last].iter().enumerate() {
        if left.words == 0 || left.judged == 0 {
            return worst.max(Some(Decision::Ask));
        }
        let identity = *known.entry(program.as_str()).or_insert_with(|| {
            left.words -= 1;
            let is_built = program == "run" && at == 1 && matches!(&*line[0], "cargo" | "go");
            if is_built || program.contains(UNKNOWN) {
                return Identity::Unknown;
            }
            identity(program, whole, Path::new(&ground.here))
        });
        if identity == Identity::Other {
            continue;
        }
        let said = &line[at + 1..];
        let told =
            judge(&format!("vertebra {}", said.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")), ground);
        left.judged -= 1;
        let counts = match identity {
            Identity::Ours => true,
            Identity::Other => false,
            // No other program has such a command. For the rest, a person says which program it is.
            Identity::Unknown => told.decision == Decision::Deny || said.first().is_some_and(|word| word == "trust"),
        };
        worst = worst.max((counts && told.classes.contains(&Class::OwnPolicy)).then_some(told.decision));
        if worst == Some(Decision::Deny) {
            break;
        }
    }
    worst
}

/// How many different words are looked up as programs. A person is asked about a line that has more.
const MAX_WORDS: usize = 1_000;
/// How many words are judged as this program. A person is asked about a line that has more.
const MAX_JUDGED: usize = 16;

/// Words by which this program decides something in place of a person.
const DECIDE: &[&str] = &[
    "allow",
    "answer",
    "approve",
    "chat",
    "confirm",
    "delete",
    "grant",
    "install",
    "prune",
    "resume",
    "trust",
    "uninstall",
];

/// Which program a word starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Identity {
    Ours,
    Other,
    /// It is not there yet, or cannot be read.
    Unknown,
}

fn identity(program: &str, whole: &Whole, here: &Path) -> Identity {
    use std::os::unix::fs::MetadataExt as _;

    if !program.contains('/') {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let usual = || std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file());
        let found = whole.program(program).or_else(usual);
        return found.map_or(Identity::Other, |path| if is_ours(&path) { Identity::Ours } else { Identity::Other });
    }
    let path = here.join(program);
    let same = |one: &fs::Metadata, other: &fs::Metadata| (one.dev(), one.ino()) == (other.dev(), other.ino());
    match (path.metadata(), std::env::current_exe().and_then(|own| own.metadata())) {
        (Ok(found), Ok(own)) if same(&found, &own) => Identity::Ours,
        (Ok(found), _) if found.is_file() => match File::open(&path) {
            Ok(_) if is_ours(&path) => Identity::Ours,
            Ok(_) => Identity::Other,
            Err(_) => Identity::Unknown,
        },
        // A word such as `./...` or `src/` starts nothing.
        (Ok(_), _) => Identity::Other,
        (Err(_), _) => Identity::Unknown,
    }
}

/// Returns whether a file is a copy of this program, also one of another version.
pub(crate) fn is_ours(path: &Path) -> bool {
    /// The largest program that is searched.
    const MAX_PROGRAM_BYTES: u64 = 1024 * 1024 * 1024;
    /// How much is read at once.
    const PIECE: usize = 1024 * 1024;
    let Ok(file) = File::open(path) else { return false };
    let mut file = file.take(MAX_PROGRAM_BYTES);
    let mut start = [0; 4];
    if file.read_exact(&mut start).is_err() || start[..2] == *b"#!" {
        return false;
    }
    let (mut piece, mut kept) = (vec![0; PIECE], Vec::new());
    loop {
        match file.read(&mut piece) {
            Ok(0) | Err(_) => return false,
            Ok(count) => kept.extend_from_slice(&piece[..count]),
        }
        // This text is part of every build.
        if memchr::memmem::find(&kept, ANSWERS.as_bytes()).is_some() {
            return true;
        }
        let tail = kept.len().saturating_sub(ANSWERS.len());
        kept.drain(..tail);
    }
}

/// Which findings in a file count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counts {
    All,
    /// Only denials: the file has other commands than the one that runs.
    Denials,
}

/// Returns the files that a simple command runs.
fn scripts(line: &[String], whole: &Whole, here: &Path) -> Vec<(PathBuf, Counts)> {
    let Some(program) = line.first() else { return Vec::new() };
    let name = program.rsplit('/').next().unwrap_or(program);
    let file = |word: &String| Some(here.join(word)).filter(|path| path.is_file());
    let mut found = Vec::new();
    let started = if program.contains('/') { file(program) } else { whole.program(program) };
    found.extend(started.map(|path| (path, Counts::All)));
    // A wrapper such as `env` or `timeout` starts the program that follows.
    if let Some(at) = line.iter().position(|word| INTERPRETERS.contains(&word.rsplit('/').next().unwrap_or(word))) {
        let after = &line[at + 1..];
        let mut run: Vec<PathBuf> = after.iter().filter_map(file).chain(modules(after, here)).collect();
        // Without an operand, it runs what it reads; and an operand may be the output of something.
        if after.iter().all(|word| word.starts_with('-')) {
            run = whole.words.iter().filter_map(file).collect();
        }
        if run.is_empty() {
            run.extend(whole.inside.iter().filter_map(file));
        }
        let before = whole.words.iter().filter_map(|word| word.split_once('='));
        let before = before.filter(|(name, _)| BEFORE.contains(name)).map(|(_, value)| value.to_owned());
        run.extend(before.filter_map(|value| file(&value)));
        found.extend(run.into_iter().map(|path| (path, Counts::All)));
    }
    found.extend(
        line.iter()
            .skip(1)
            .filter(|word| word.contains('/'))
            .filter_map(file)
            .filter(|path| is_program(path))
            .map(|path| (path, Counts::All)),
    );
    for (_, files) in RUNNERS.iter().filter(|(runner, _)| *runner == name) {
        found.extend(files.iter().map(|file| (here.join(file), Counts::Denials)));
    }
    found
}

/// Returns the files of Python modules and packages: `-m NAME`, or a folder.
fn modules(words: &[String], here: &Path) -> Vec<PathBuf> {
    let named = words.iter().skip_while(|word| *word != "-m").nth(1).map(|name| name.replace('.', "/"));
    let files = named.iter().map(|name| here.join(format!("{name}.py")));
    let folders = words.iter().chain(&named).map(|name| here.join(name).join("__main__.py"));
    files.chain(folders).filter(|path| path.is_file()).collect()
}

/// Returns whether a file may be executed and begins like a script.
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;

    let mut start = [0; 2];
    fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o111 != 0)
        && File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok()
        && &start == b"#!"
}

/// Returns the text of a regular file that is not too large.
fn text_of(path: &Path) -> Option<String> {
    let file = File::open(path).ok().filter(|file| file.metadata().is_ok_and(|found| found.is_file()))?;
    let mut bytes = Vec::new();
    file.take(MAX_SCRIPT_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn is_shell_script(path: &Path, text: &str) -> bool {
    let is_shell = |word: &str| matches!(word.rsplit('/').next(), Some("sh" | "bash" | "dash" | "zsh" | "ksh" | "ash"));
    match text.lines().next().and_then(|line| line.strip_prefix("#!")) {
        Some(interpreter) => interpreter.split_whitespace().any(is_shell),
        None => path.extension().is_none_or(|end| end == "sh" || end == "bash"),
    }
}

/// Keeps the built-in agent from answering for a person. No rule that allows commands lifts it.
pub(crate) struct OwnCommands {
    /// The folder in which commands run.
    pub(crate) ground: Ground,
}

impl Capability for OwnCommands {
    fn install(self, kit: &mut Kit) {
        let ground = Arc::new(self.ground);
        kit.guard(BeforeToolUse.named("own/commands"), async move |cx| {
            let Some(command) = cx.command().map(str::to_owned) else { return proceed() };
            let mut ground = (*ground).clone();
            if let Ok(Some(here)) = cx.state().metadata().read(CWD) {
                ground.here = here;
            }
            // Scripts are read from the disk.
            match tokio::task::spawn_blocking(move || judged(&command, &ground)).await? {
                Some((Decision::Deny, why)) => deny(why),
                Some((Decision::Ask | Decision::Allow, why)) => ask(why),
                None => proceed(),
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_the_program_under_another_name_is_recognised() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        // The program that runs the tests has the text as well.
        let own = std::env::current_exe().expect("a program");
        std::os::unix::fs::symlink(&own, at("soft")).expect("a link");
        let mut copy = fs::read(&own).expect("a program");
        copy.push(0);
        fs::write(at("copy"), copy).expect("a copy");
        fs::write(at("other"), b"\x7fELF and something else").expect("a file");
        let ground = Ground::new(folder.path().to_string_lossy(), "/home/me");
        for (command, expected) in [
            ("./copy sessions answer last --approve", Some(Decision::Deny)),
            ("./soft sessions answer last --approve", Some(Decision::Deny)),
            ("/lib64/ld-linux-x86-64.so.2 ./copy sessions answer 1", Some(Decision::Deny)),
            ("nohup env X=1 ./copy sessions 'answer' 1 &", Some(Decision::Deny)),
            ("/proc/self/exe sessions answer 1", Some(Decision::Deny)),
            ("./made-later sessions answer 1", Some(Decision::Deny)),
            ("./copy trust --yes", Some(Decision::Ask)),
            ("./copy install --host claude-code", Some(Decision::Ask)),
            ("./made-later trust --yes", Some(Decision::Ask)),
            ("./copy sessions resume last --mode bypass", Some(Decision::Deny)),
            ("./copy chat --continue", Some(Decision::Ask)),
            ("PATH=.:$PATH copy sessions answer 1", Some(Decision::Deny)),
            ("PATH=$PWD:$PATH; copy sessions answer 1", Some(Decision::Deny)),
            ("$(cat name) sessions answer 1", Some(Decision::Deny)),
            ("cargo run -q -- sessions answer 1", Some(Decision::Deny)),
            ("git rebase --continue", None),
            ("wget --continue ./other", None),
            ("./copy --version", None),
            ("./other trust --yes", None),
            ("./made-later install", None),
            ("npm install ./other", None),
            ("grep -r 'sessions answer' src/", None),
            ("cat src/trust install", None),
        ] {
            assert_eq!(judged(command, &ground).map(|found| found.0), expected, "{command}");
        }
    }

    #[test]
    fn scripts_that_a_command_runs_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
        write("a.sh", "set -e\nv=vertebra\n$v sessions answer 1 --yes\n");
        write("b", "#!/usr/bin/env bash\n. ./a.sh\n");
        write("c.py", "import subprocess\nsubprocess.run(['vertebra', 'sessions', 'answer', '1'])\n");
        write("t.sh", "vertebra trust --yes\n");
        write("plain.sh", "echo hello\n");
        write("answer.txt", "vertebra sessions answer 1\n");
        write("resume.sh", "vertebra sessions resume last --model m --mode=bypass\n");
        write("p.awk", "BEGIN { system(\"vertebra sessions answer 1\") }\n");
        write("Rakefile", "sh 'vertebra sessions answer 1'\n");
        fs::create_dir(folder.path().join("package")).expect("a folder");
        write("package/__main__.py", "import os\nos.system('vertebra sessions answer 1')\n");
        write("Makefile", "yes:\n\tvertebra sessions answer 1\n");
        fs::create_dir(folder.path().join("below")).expect("a folder");
        write("below/d.sh", "vertebra sessions answer 1\n");
        write("below/Makefile", "yes:\n\tvertebra sessions answer 1\n");
        write("below/package.json", "{ \"scripts\": { \"yes\": \"vertebra sessions answer 1\" } }");
        write("README.md", "Run `vertebra sessions answer 1`, or vertebra trust.\n");
        let ground = Ground::new(folder.path().to_string_lossy(), "/home/me");
        for command in [
            "sh a.sh",
            "bash -e ./a.sh now",
            "./b",
            "env X=1 timeout 5 sh a.sh",
            "cat a.sh | sh",
            "sh < a.sh",
            "source a.sh",
            ". ./a.sh",
            "python3 c.py",
            "bash -c 'sh a.sh'",
            "make yes",
            "vertebra sessions answer 1",
            "vertebra sessions answe[r] 1",
            "vertebra sessions resume last --mode bypass",
            "vertebra sessions resume last --allow 'Bash(*)'",
            "vertebra chat --resume=last --mode bypass",
            "vertebra chat --continue --trust",
            "sh resume.sh",
            "eval \"$(cat answer.txt)\"",
            "sh -c \"$(cat answer.txt)\"",
            "source <(cat answer.txt)",
            "bash <(cat answer.txt)",
            "BASH_ENV=answer.txt bash -c :",
            "python3 -m c",
            "python3 -m package",
            "python3 package",
            "awk -f p.awk",
            "rake",
            "cd below && sh d.sh",
            "cd below/.. && cd below; ./d.sh",
            "pushd below && . ./d.sh",
            "env -C below sh d.sh",
            "make -C below yes",
            "npm --prefix=below run yes",
        ] {
            assert_eq!(judged(command, &ground).map(|found| found.0), Some(Decision::Deny), "{command}");
        }
        assert_eq!(judged("sh t.sh", &ground).map(|found| found.0), Some(Decision::Ask));
        for command in [
            "sh plain.sh",
            "cat README.md",
            "cat a.sh",
            "ls",
            "python3 -m pytest",
            "git add a.sh",
            "cat README.md; sh plain.sh",
        ] {
            assert_eq!(judged(command, &ground), None, "{command}");
        }
    }
}
