//! Scripts in the arguments of `sed`, `awk` and `jq` that write nothing, run nothing and read no other file.

/// Returns whether a `sed` script has only addresses and commands that print, delete and substitute.
pub(super) fn sed_only_prints(script: &str) -> bool {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', ';', '{', '}']);
        let Some(command) = rest.chars().next() else { return true };
        let Some(after) = (match command {
            '0'..='9' | '$' | ',' | '~' | '+' | '!' => Some(&rest[1..]),
            '/' => delimited(&rest[1..], '/').map(|(_, after)| after.trim_start_matches(['I', 'M'])),
            '\\' => rest[1..]
                .chars()
                .next()
                .filter(char::is_ascii_punctuation)
                .and_then(|end| delimited(&rest[2..], end).map(|(_, after)| after.trim_start_matches(['I', 'M']))),
            's' => substitution(&rest[1..]),
            'y' => twice(&rest[1..]),
            'p' | 'd' | 'D' | 'P' | 'g' | 'G' | 'h' | 'H' | 'x' | 'n' | 'N' | '=' => ends(&rest[1..]),
            'q' | 'Q' | 'l' => {
                ends(rest[1..].trim_start_matches([' ', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']))
            }
            _ => None,
        }) else {
            return false;
        };
        rest = after;
    }
}

/// Returns the text if a command of `sed` ends there.
fn ends(rest: &str) -> Option<&str> {
    let after = rest.trim_start_matches([' ', '\t']);
    (after.is_empty() || after.starts_with([';', '\n', '}'])).then_some(after)
}

fn substitution(rest: &str) -> Option<&str> {
    let after = twice(rest)?;
    ends(
        after.trim_start_matches(|flag: char| {
            flag.is_ascii_digit() || matches!(flag, 'g' | 'p' | 'i' | 'I' | 'm' | 'M')
        }),
    )
}

/// Passes two texts that end with the same character.
fn twice(rest: &str) -> Option<&str> {
    let end = rest.chars().next().filter(|end| end.is_ascii_punctuation() && *end != '\\' && *end != ';')?;
    let (_, rest) = delimited(&rest[1..], end)?;
    delimited(rest, end).map(|(_, rest)| rest)
}

/// The text before an unescaped character, and what follows it. Programs do not agree on one in brackets.
fn delimited(text: &str, end: char) -> Option<(&str, &str)> {
    let (mut escaped, mut in_brackets) = (false, false);
    for (at, c) in text.char_indices() {
        match c {
            '\n' => return None,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == end => return (!in_brackets).then(|| (&text[..at], &text[at + c.len_utf8()..])),
            '[' => in_brackets = true,
            ']' => in_brackets = false,
            _ => {}
        }
    }
    None
}

/// Returns whether an `awk` script only prints. It can print to files and programs only in an action, which is in braces.
pub(super) fn awk_only_prints(script: &str) -> bool {
    const OTHERS: [&str; 9] = ["system", "getline", "ENVIRON", "ARGV", "ARGC", "@", "\\\n", "PROCINFO", "SYMTAB"];
    let action = script.find('{').map_or("", |at| &script[at..]);
    let pipes = action.replace("||", "");
    !OTHERS.iter().any(|other| script.contains(other)) && !pipes.contains(['|', '>'])
}

/// Returns whether a `jq` filter reads only its input.
pub(super) fn jq_only_filters(filter: &str) -> bool {
    let mut words = filter.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    !words.any(|word| {
        matches!(
            word,
            "env"
                | "ENV"
                | "input"
                | "inputs"
                | "import"
                | "include"
                | "input_filename"
                | "modulemeta"
                | "debug"
                | "halt_error"
                | "get_search_list"
        ) || word.starts_with("__")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sed_script_that_writes_runs_or_reads_is_found() {
        for fine in [
            "1,20p",
            "$p",
            "/fn main/,/^}/p",
            "s/a/b/g",
            "s|a/b|c|;p",
            "10q",
            "5d;6p",
            "/x/!d",
            "1~2p",
            "/a/{p;q}",
            "y/abc/ABC/",
            "s/[0-9]*/n/2",
            "",
            "/x/I p",
            "\\,a/b,p",
            "/a/,+3p",
            "$=",
            "s/w/e/",
        ] {
            assert!(sed_only_prints(fine), "{fine}");
        }
        for not in [
            "w out",
            "1w out",
            "s/a/b/w out",
            "s/a/b/e",
            "s/a/id/ge",
            "e id",
            "1e",
            "r /etc/passwd",
            "R x",
            "W x",
            "a text",
            "i\\x",
            "s/[/]/x/w out",
            "p w out",
            "b",
            "F",
            "/a/w x",
            "c\\x",
            "s/a/b",
            "#n",
            "s;a;b;w x",
            "{p}w x",
            "d;w x",
            "q5 w x",
            "z",
        ] {
            assert!(!sed_only_prints(not), "{not}");
        }
    }

    #[test]
    fn an_awk_script_that_writes_or_runs_is_found() {
        for fine in [
            "{print}",
            "{print $1, $2}",
            "NR==1",
            "$3 > 100 {print $1}",
            "/a|b/ {print}",
            "NR>5 && NR<9",
            "BEGIN{FS=\":\"} {n+=$1} END{print n}",
        ] {
            assert!(awk_only_prints(fine), "{fine}");
        }
        for not in [
            "{print > \"x\"}",
            "{print >> \"x\"}",
            "{print | \"sh\"}",
            "BEGIN{system(\"id\")}",
            "BEGIN{\"id\" | getline x}",
            "\"id\" | getline",
            "/\"/ {print > \"x\"} /\"/",
            "BEGIN{while((getline l < \"/etc/passwd\")>0) print l}",
            "BEGIN{ARGV[1]=\"/etc/passwd\"}",
            "BEGIN{print ENVIRON[\"K\"]}",
            "@load \"x\"",
            "{printf \"x\" > \"/dev/tcp\"}",
            "BEGIN { f=\"sys\" \"tem\"; @f(\"id\") }",
        ] {
            assert!(!awk_only_prints(not), "{not}");
        }
    }

    #[test]
    fn a_jq_filter_that_reads_more_than_its_input_is_found() {
        for fine in
            [".", ".a.b[0]", ".scripts | keys", "map(select(.name == \"x\"))", ".environment", "to_entries[] | .key"]
        {
            assert!(jq_only_filters(fine), "{fine}");
        }
        for not in ["env", "$ENV.HOME", "env.KEY", "[inputs]", "input", "import \"x\" as x; .", "include \"x\"; ."] {
            assert!(!jq_only_filters(not), "{not}");
        }
    }
}
