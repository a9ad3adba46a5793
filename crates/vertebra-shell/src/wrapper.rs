//! Programs that run another command given in their arguments, and where in the arguments it is.

use std::ops::Range;

use crate::simple::assigned;

/// What a command runs besides itself.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Runs {
    /// Nothing we know of.
    Nothing,
    /// The command that starts at this word.
    Command(usize),
    /// The words `from..to`, joined and read as a script.
    Script { from: usize, to: usize },
    /// The words from there on, joined, without so many bytes at the beginning: what `env` makes its own arguments of.
    Again { from: usize, skip: usize },
}

impl Runs {
    /// What the command of these words runs. A place that is returned is always within `words` and never 0.
    pub(crate) fn of(words: &[&str]) -> Self {
        let Some(first) = words.first() else { return Self::Nothing };
        if assigned(first).is_some() {
            return Self::command(words, 1);
        }
        let program = base(first);
        if takes_script(program) {
            return shell(words);
        }
        match program {
            "eval" => Self::script(words, behind_dashes(words), words.len()),
            "trap" => Self::script(words, behind_dashes(words), behind_dashes(words) + 1),
            _ => match WRAPPERS.iter().find(|wrapper| wrapper.name == program) {
                Some(wrapper) => wrapper.runs(words),
                None => Self::Nothing,
            },
        }
    }

    fn command(words: &[&str], start: usize) -> Self {
        if start < words.len() { Self::Command(start) } else { Self::Nothing }
    }

    fn script(words: &[&str], from: usize, to: usize) -> Self {
        if from < words.len() { Self::Script { from, to: to.min(words.len()) } } else { Self::Nothing }
    }
}

/// Where the operands of a command begin that has no options but `--`.
fn behind_dashes(words: &[&str]) -> usize {
    1 + usize::from(words.get(1) == Some(&"--"))
}

/// Whether this program runs the command in its arguments as it is, and only gives it other variables, priorities, limits or
/// buffers: `env`, `nice`, `timeout`. What its options do is another question.
pub fn only_starts(program: &str) -> bool {
    WRAPPERS.iter().any(|wrapper| wrapper.only_starts && wrapper.name == program)
}

/// Whether a command of this program does nothing but run another one.
pub(crate) fn only_runs(program: &str) -> bool {
    is_shell(program) || WRAPPERS.iter().any(|wrapper| wrapper.name == base(program))
}

/// Whether what this program reads from its input may be a script.
pub(crate) fn reads_script(program: &str) -> bool {
    is_shell(program) || matches!(base(program), "." | "source" | "at" | "batch" | "crontab")
}

pub(crate) fn is_shell(program: &str) -> bool {
    matches!(base(program), "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "mksh" | "rbash" | "fish")
}

fn takes_script(program: &str) -> bool {
    is_shell(program) || matches!(program, "su" | "runuser" | "script")
}

#[derive(Clone, Copy)]
struct Wrapper {
    name: &'static str,
    /// Short options that take the next word as their value, when nothing is glued to them.
    valued: &'static str,
    /// Long options that take the next word as their value.
    valued_long: &'static [&'static str],
    /// Words of its own between the options and the command.
    operands: usize,
    /// Whether the command is the same with it: it only gets other variables, priorities, limits or buffers.
    only_starts: bool,
}

const fn wrapper(name: &'static str, valued: &'static str, operands: usize) -> Wrapper {
    Wrapper { name, valued, valued_long: &[], operands, only_starts: false }
}

const fn only(wrapper: Wrapper) -> Wrapper {
    Wrapper { only_starts: true, ..wrapper }
}

const fn long(wrapper: Wrapper, valued_long: &'static [&'static str]) -> Wrapper {
    Wrapper { valued_long, ..wrapper }
}

const WRAPPERS: &[Wrapper] = &[
    only(long(wrapper("env", "uCa", 0), &["--unset", "--chdir", "--argv0"])),
    long(
        wrapper("sudo", "ughpCrtTUDRac", 0),
        &[
            "--user",
            "--group",
            "--host",
            "--prompt",
            "--close-from",
            "--chdir",
            "--chroot",
            "--role",
            "--type",
            "--command-timeout",
            "--other-user",
        ],
    ),
    wrapper("doas", "uCa", 0),
    only(wrapper("nohup", "", 0)),
    only(long(wrapper("nice", "n", 0), &["--adjustment"])),
    only(long(wrapper("ionice", "cnpPu", 0), &["--class", "--classdata"])),
    only(long(wrapper("timeout", "sk", 1), &["--signal", "--kill-after"])),
    long(wrapper("xargs", "nILPsdEaJR", 0), &["--max-args", "--max-procs", "--max-chars", "--delimiter", "--arg-file"]),
    only(wrapper("command", "", 0)),
    wrapper("exec", "a", 0),
    only(wrapper("builtin", "", 0)),
    only(wrapper("noglob", "", 0)),
    only(long(wrapper("time", "fo", 0), &["--format", "--output"])),
    only(long(wrapper("stdbuf", "ioe", 0), &["--input", "--output", "--error"])),
    wrapper("setsid", "", 0),
    long(wrapper("watch", "nq", 0), &["--interval", "--equexit"]),
    wrapper("chrt", "TPD", 1),
    wrapper("taskset", "", 1),
    wrapper("chroot", "", 1),
    wrapper("flock", "wE", 1),
    wrapper("busybox", "", 0),
    wrapper("toybox", "", 0),
    long(
        wrapper("setpriv", "", 0),
        &["--reuid", "--regid", "--groups", "--inh-caps", "--ambient-caps", "--bounding-set", "--securebits"],
    ),
    long(wrapper("unshare", "SGRw", 0), &["--setuid", "--setgid", "--root", "--wd", "--propagation"]),
    long(wrapper("nsenter", "tSG", 0), &["--target", "--setuid", "--setgid"]),
    wrapper("strace", "abeEIoOpPsSuUX", 0),
    wrapper("ltrace", "aAbDeFlnopsuwx", 0),
    long(
        wrapper("systemd-run", "puEHM", 0),
        &["--unit", "--property", "--uid", "--gid", "--slice", "--description", "--working-directory", "--setenv"],
    ),
    long(wrapper("pkexec", "", 0), &["--user"]),
    wrapper("run0", "", 0),
    wrapper("gosu", "", 1),
    wrapper("su-exec", "", 1),
    wrapper("setarch", "", 1),
    wrapper("prlimit", "", 0),
    wrapper("numactl", "CmNpl", 0),
    wrapper("firejail", "", 0),
    wrapper("valgrind", "", 0),
    wrapper("xvfb-run", "efnpsw", 0),
    wrapper("eatmydata", "", 0),
    wrapper("dbus-run-session", "", 0),
    wrapper("proxychains", "f", 0),
    wrapper("proxychains4", "f", 0),
    wrapper("torsocks", "", 0),
    wrapper("unbuffer", "", 0),
    wrapper("rlwrap", "", 0),
    wrapper("caffeinate", "tw", 0),
];

impl Wrapper {
    fn runs(&self, words: &[&str]) -> Runs {
        let mut at = 1;
        while let Some(&word) = words.get(at) {
            let Some(option) = word.strip_prefix('-') else { break };
            if let Some(skip) = (self.name == "env").then(|| split_string(option)).flatten() {
                let next = skip == word.len() && at + 1 < words.len();
                return if next { Runs::Again { from: at + 1, skip: 0 } } else { Runs::Again { from: at, skip } };
            }
            if self.name == "flock" && option == "c" {
                return Runs::script(words, at + 1, at + 2);
            }
            at += 1;
            if option == "-" {
                break;
            }
            at += usize::from(self.next_is_value(word));
        }
        let own = |at: usize| words.get(at).is_some_and(|word| assigned(word).is_some());
        while matches!(self.name, "env" | "sudo" | "doas") && own(at) {
            at += 1;
        }
        // `watch` gives its words to a shell; `watch 'rm x'` is one word and still two.
        if self.name == "watch" {
            return Runs::script(words, at, words.len());
        }
        if self.name == "flock" && words.get(at + 1) == Some(&"-c") {
            return Runs::script(words, at + 2, at + 3);
        }
        Runs::command(words, at + self.operands)
    }

    fn next_is_value(&self, word: &str) -> bool {
        if word.starts_with("--") {
            // Long names may be cut short.
            return word.len() > 2 && self.valued_long.iter().any(|long| long.starts_with(word));
        }
        // Of a cluster such as `-nu`, the first letter that takes a value takes all that is glued to it.
        let first = word.char_indices().skip(1).find(|(_, letter)| self.valued.contains(*letter));
        first.is_some_and(|(place, letter)| place + letter.len_utf8() == word.len())
    }
}

/// `env -S 'rm -rf x'`, `-iSrm`, `--split-string=rm`: where in the word the line begins, which may be its end. `env` splits it
/// nearly as a shell would, and reads what comes of it, and what follows, as its arguments.
fn split_string(option: &str) -> Option<usize> {
    match option.strip_prefix('-') {
        // Long names may be cut short.
        Some(long) => {
            let name = long.split('=').next().unwrap_or_default();
            (!name.is_empty() && "split-string".starts_with(name)).then(|| 2 + long.len().min(name.len() + 1))
        }
        None => {
            option.find(['S', 'u', 'C', 'a']).filter(|place| option[*place..].starts_with('S')).map(|place| place + 2)
        }
    }
}

/// What bash also takes behind one dash, of what has a letter in it that means something alone.
const LONG_OF_BASH: &[&str] = &[
    "rcfile",
    "init-file",
    "norc",
    "noprofile",
    "login",
    "posix",
    "noediting",
    "restricted",
    "verbose",
    "pretty-print",
    "dump-strings",
    "dump-po-strings",
    "version",
];

/// The script of `sh -c script`, with any options before and after the `-c`.
fn shell(words: &[&str]) -> Runs {
    let mut at = 1;
    let mut script = false;
    while let Some(&word) = words.get(at) {
        if !word.starts_with(['-', '+']) {
            // `su root -c …` and `script file -c …` have their options behind an operand.
            if script || is_shell(words[0]) {
                break;
            }
            at += 1;
            continue;
        }
        let name = word.trim_start_matches('-');
        let cluster = !word.starts_with("--") && word.len() > 1 && !LONG_OF_BASH.contains(&name);
        script |= (cluster && word.starts_with('-') && word.contains('c')) || word == "--command";
        at += 1;
        if word == "--" {
            break;
        }
        // Each `o` of a cluster takes a word, if nothing is glued to it; the name of an option begins with no dash.
        let mut valued = if cluster {
            word.matches(['o', 'O']).count()
        } else {
            usize::from(matches!(name, "rcfile" | "init-file"))
        };
        while valued > 0 && words.get(at).is_some_and(|word| !word.starts_with(['-', '+'])) {
            (at, valued) = (at + 1, valued - 1);
        }
    }
    if script { Runs::script(words, at, at + 1) } else { Runs::Nothing }
}

/// Where the commands are in `find … -exec command ; -exec command +`; none for other programs.
///
/// No part has such an option in it, so a part has no parts.
pub(crate) fn parts_of_find(words: &[&str]) -> Vec<Range<usize>> {
    if words.first().is_none_or(|program| base(program) != "find") {
        return Vec::new();
    }
    let runs = |word: &str| matches!(word, "-exec" | "-execdir" | "-ok" | "-okdir");
    let ends = |word: &str| runs(word) || word == ";" || word == "+";
    let starts = words.iter().enumerate().filter(|(_, word)| runs(word)).map(|(at, _)| at + 1);
    starts
        .map(|start| start..words[start..].iter().position(|word| ends(word)).map_or(words.len(), |at| start + at))
        .collect()
}

/// The last part of a program's path.
pub(crate) fn base(program: &str) -> &str {
    program.rsplit_once('/').map_or(program, |(_, base)| base)
}
