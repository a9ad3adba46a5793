//! Which files a shell command has shown: reading a file with `cat` is reading it.

/// The longest command that is looked at.
const MAX_BYTES: usize = 4096;

/// How many files one command may show.
const MAX_FILES: usize = 50;

/// The files that a command shows, as it names them. Only commands of which every part is known count: all others may have
/// changed what they showed.
pub(super) fn shown_by(command: &str) -> Vec<String> {
    let parts = if command.len() <= MAX_BYTES { parts(command) } else { None };
    let mut shown = Vec::new();
    for (number, (words, is_piped)) in parts.unwrap_or_default().iter().enumerate() {
        let Some((program, arguments)) = words.split_first() else { return Vec::new() };
        let Some(files) = files(program, arguments, number == 0) else { return Vec::new() };
        if *is_piped && !files.is_empty() {
            return Vec::new();
        }
        shown.extend(files);
    }
    shown.truncate(MAX_FILES);
    shown
}

/// The files that one simple command shows; `None` if it is not known what it does.
fn files(program: &str, arguments: &[String], is_first: bool) -> Option<Vec<String>> {
    let mut rest = arguments.iter();
    let mut files = Vec::new();
    match program {
        "cat" | "nl" | "tac" | "less" | "more" => files.extend(rest.filter(|word| !word.starts_with('-')).cloned()),
        "head" | "tail" => {
            while let Some(word) = rest.next() {
                match word.as_str() {
                    "-n" | "-c" | "--lines" | "--bytes" => drop(rest.next()),
                    // It goes on, and shows what comes.
                    "-f" | "-F" | "--follow" => return None,
                    option if option.starts_with('-') => {}
                    file => files.push(file.to_owned()),
                }
            }
        }
        "sed" => {
            let (quiet, script) = (rest.next()?, rest.next()?);
            let prints = |script: &str| script.ends_with('p') && script.chars().all(|c| "0123456789,;$p ".contains(c));
            if quiet != "-n" || !prints(script) || arguments.iter().skip(2).any(|word| word.starts_with('-')) {
                return None;
            }
            files.extend(rest.cloned());
        }
        // What comes after it is relative to the folder in which the command ended.
        "cd" if is_first && arguments.len() == 1 => {}
        "echo" | "ls" | "pwd" | "true" | "wc" => {}
        _ => return None,
    }
    Some(files)
}

/// The words of each simple command, and whether its input is a pipe; `None` if the command is more than lists and pipes
/// of plain words.
fn parts(command: &str) -> Option<Vec<(Vec<String>, bool)>> {
    let mut parts: Vec<(Vec<String>, bool)> = vec![(Vec::new(), false)];
    let mut letters = command.trim().chars().peekable();
    let mut word: Option<String> = None;
    while let Some(letter) = letters.next() {
        let ends = match letter {
            ' ' | '\t' => Some(None),
            ';' | '\n' => Some(Some(false)),
            '|' if letters.peek() != Some(&'|') => Some(Some(true)),
            '&' if letters.next_if_eq(&'&').is_some() => Some(Some(false)),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        end if end == letter => break,
                        '$' | '`' | '\\' if letter == '"' => return None,
                        inside => word.push(inside),
                    }
                }
                None
            }
            '$' | '`' | '\\' | '&' | '|' | '<' | '>' | '(' | ')' | '{' | '}' | '*' | '?' | '[' | '~' | '#' | '!'
            | '=' | '\r' => return None,
            plain => {
                word.get_or_insert_default().push(plain);
                None
            }
        };
        if let Some(next) = ends {
            parts.last_mut()?.0.extend(word.take());
            if let Some(is_piped) = next {
                parts.push((Vec::new(), is_piped));
            }
        }
    }
    parts.last_mut()?.0.extend(word);
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_command_of_readers_shows_the_files_it_names() {
        for (command, expected) in [
            ("cat a.txt", "a.txt"),
            ("cat -n 'a b.txt' \"c.txt\"", "a b.txt,c.txt"),
            ("cd src && cat main.rs; head -n 20 lib.rs", "main.rs,lib.rs"),
            ("sed -n '1,20p' a.txt", "a.txt"),
            ("tail -5 a.txt && echo done", "a.txt"),
            ("cat a.txt | head -50", "a.txt"),
            ("ls -la && cat a.txt", "a.txt"),
        ] {
            assert_eq!(shown_by(command).join(","), expected, "{command}");
        }
    }

    #[test]
    fn a_command_that_may_do_more_shows_nothing() {
        for command in [
            "cat a.txt > b.txt",
            "cat a.txt; cargo fmt",
            "cat $FILE",
            "cat *.txt",
            "sed -i 's/a/b/' a.txt",
            "sed -n 'w b.txt' a.txt",
            "cat a.txt | tee b.txt",
            "cat a.txt || rm a.txt",
            "cat a.txt &",
            "tail -f a.txt",
            "cat 'a.txt",
            "A=1 cat a.txt",
            "",
        ] {
            assert_eq!(shown_by(command), Vec::<String>::new(), "{command}");
        }
    }
}
