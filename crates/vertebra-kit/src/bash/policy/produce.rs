//! What programs print, as far as that is known before they run.

use super::{
    decode,
    fields::texts,
    invoke::Call,
    judge::Judge,
    options::Parsed,
    places::Place,
    value::{ENDLESS, SECRET, UNKNOWN, blend, is_known},
};

/// What a command prints that read these texts.
pub(super) fn output(judge: &mut Judge<'_>, call: &Call<'_>, parsed: &Parsed, read: &str) -> String {
    let words = texts(call.args());
    let operands = texts(&parsed.operands);
    let source =
        if operands.is_empty() || call.name == "tr" { call.input.clone().unwrap_or_default() } else { read.to_owned() };
    let known = is_known(&source) && !source.is_empty();
    let exact = match call.name {
        "true" | "false" | ":" | "sleep" | "wait" | "touch" | "mkdir" | "set" | "shopt" | "exit" => Some(String::new()),
        "pwd" => judge.scope.cwd.path.clone(),
        "cat" | "bat" | "tac" if known && !parsed.has(&["-n", "-b"]) => Some(source.clone()),
        "cat" if source.contains(ENDLESS) => Some(source.clone()),
        "yes" => Some(ENDLESS.to_string()),
        "head" | "tail" | "sort" | "uniq"
            if known && source.lines().count() <= 1 && !parsed.has(&["-c", "--bytes"]) =>
        {
            Some(source.clone())
        }
        "rev" if known => Some(source.lines().map(|line| line.chars().rev().collect::<String>() + "\n").collect()),
        "base64" | "openssl base64" | "openssl enc" if known => {
            let decodes =
                words.iter().any(|word| word.starts_with("-d") || word.starts_with("-D") || word.starts_with("--d"));
            let is_base64 =
                call.name != "openssl enc" || words.iter().any(|word| word.contains("base64") || *word == "-a");
            (decodes && is_base64).then(|| decode::base64(&source)).flatten()
        }
        "base32" if known => words.iter().any(|word| word.starts_with("-d")).then(|| decode::base32(&source)).flatten(),
        "xxd" if known && words.iter().any(|word| word.starts_with("-r")) => decode::hex(&source),
        "tr" if known => decode::translate(&words, &source),
        "basename" | "dirname" => parts(call.name, &operands),
        "realpath" | "readlink" => operands.last().and_then(|path| judge.resolved(path)),
        "mktemp" => Some(format!("/tmp/tmp.{UNKNOWN}")),
        "which" => operands.first().map(|name| format!("/usr/bin/{name}")),
        "ls" | "exa" | "eza" if words.iter().any(|word| word.starts_with('-') && word.contains('d')) => {
            (!call.argv.iter().any(|field| field.glob)).then(|| operands.join("\n"))
        }
        "ls" | "grep" | "rg" | "git ls-files" | "git diff" | "git grep" if own_files(judge, call, &operands) => {
            Some(format!("./{UNKNOWN}\n"))
        }
        "git rev-parse" if words.contains(&"--show-toplevel") => Some(judge.ground.folder.clone()),
        "printenv" | "history" => Some(SECRET.to_string()),
        _ => None,
    };
    exact.unwrap_or_else(|| blend(words.iter().copied().chain([source.as_str(), read]).chain(call.input.as_deref())))
}

/// Whether a command lists names of files, and only such of the working folder.
fn own_files(judge: &Judge<'_>, call: &Call<'_>, operands: &[&str]) -> bool {
    let words = texts(call.args());
    let lists = match call.name {
        "grep" | "rg" | "git grep" => {
            words.iter().any(|word| matches!(*word, "-l" | "-rl" | "-lr" | "--files" | "--files-with-matches"))
        }
        "git diff" => words.contains(&"--name-only"),
        _ => true,
    };
    let skipped = usize::from(matches!(call.name, "grep" | "rg" | "git grep"));
    let own = operands.iter().skip(skipped).all(|path| judge.place(path) == Place::Inside);
    lists && own && judge.place(".") == Place::Inside && call.name != "ls"
        || call.name == "ls" && own && operands.iter().all(|path| !path.contains('/'))
}

fn parts(name: &str, operands: &[&str]) -> Option<String> {
    let path = operands.first()?.trim_end_matches('/');
    let (folder, base) = path.rsplit_once('/').unwrap_or((".", path));
    let base = operands.get(1).and_then(|end| base.strip_suffix(end)).unwrap_or(base);
    Some(if name == "basename" { base.to_owned() } else { folder.to_owned() })
}

/// What `printf` prints.
pub(super) fn printf(format: &str, args: &[&str]) -> String {
    let mut out = String::new();
    let mut rest = args.iter();
    for _ in 0..=args.len().min(64) {
        let before = rest.len();
        let mut chars = escapes(format).chars().collect::<Vec<_>>().into_iter().peekable();
        while let Some(c) = chars.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            while chars.next_if(|c| c.is_ascii_digit() || matches!(c, '-' | '.' | '+' | '#' | ' ')).is_some() {}
            match chars.next() {
                Some('%') | None => out.push('%'),
                Some('b') => out.push_str(&escapes(rest.next().unwrap_or(&""))),
                Some('c') => out.extend(rest.next().and_then(|arg| arg.chars().next())),
                Some('s' | 'd' | 'i' | 'u') => out.push_str(rest.next().unwrap_or(&"")),
                Some(_) => {
                    rest.next();
                    out.push(UNKNOWN);
                }
            }
        }
        if rest.len() == 0 || rest.len() == before {
            break;
        }
    }
    out
}

/// The text with its escapes read, as `echo -e` does.
pub(super) fn escapes(text: &str) -> String {
    if text.contains('\\') { super::lex::ansi(&text.replace("\\c", "")) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_applied_to_all_arguments() {
        assert_eq!(printf("%s\\n", &["a", "b"]), "a\nb\n");
        assert_eq!(printf("\\x72%s", &["m"]), "rm");
        assert_eq!(printf("%b", &["\\162m"]), "rm");
        assert_eq!(printf("x", &["a"]), "x");
    }
}
