//! A hint for whoever looked for a text in vain: where something like it stands.

use super::push_line;

/// How many lines are looked at, and how much of each.
const MAX_LINES: usize = 50_000;
const MAX_LINE: usize = 300;

/// How many lines a hint shows.
const SHOWN: usize = 5;

/// Says what may have gone wrong.
pub(super) fn hint(body: &str, wanted: &str) -> String {
    if has_line_numbers(wanted) {
        return "it has line numbers in it: leave out the numbers and the tab that read_file puts before each line"
            .to_owned();
    }
    let lines: Vec<&str> = body.lines().take(MAX_LINES).collect();
    let wanted: Vec<&str> = wanted.lines().filter(|line| !line.trim().is_empty()).collect();
    let Some(first) = wanted.first() else {
        return "it is white space alone: take text from around it".to_owned();
    };
    if let Some(at) = same_but_for_space(&lines, &wanted) {
        return format!("only its white space differs from this:\n{}", shown(&lines, at, wanted.len()));
    }
    match most_alike(&lines, first) {
        Some(at) => format!("this is the most like it:\n{}", shown(&lines, at, wanted.len())),
        None => "nothing like it is there: read the file again".to_owned(),
    }
}

fn has_line_numbers(text: &str) -> bool {
    let number = |line: &str| {
        let (number, _) = line.split_once('\t')?;
        number.trim_start().parse::<u64>().ok()
    };
    !text.is_empty() && text.lines().all(|line| number(line).is_some())
}

fn squeezed(line: &str) -> String {
    line.split_whitespace().collect()
}

/// Where the same lines stand if white space and blank lines do not count.
fn same_but_for_space(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let wanted: Vec<String> = wanted.iter().map(|line| squeezed(line)).collect();
    let solid: Vec<(usize, String)> =
        lines.iter().enumerate().map(|(at, line)| (at, squeezed(line))).filter(|(_, line)| !line.is_empty()).collect();
    let found = match &wanted[..] {
        [one] => solid.iter().find(|(_, line)| line.contains(one.as_str())),
        many => solid.windows(many.len()).find(|run| run.iter().map(|(_, line)| line).eq(many)).map(|run| &run[0]),
    };
    found.map(|(at, _)| *at)
}

/// The line that shares the most pairs of bytes with this one, if it is at least half.
fn most_alike(lines: &[&str], wanted: &str) -> Option<usize> {
    let pairs = |line: &str| {
        let bytes = line.trim().as_bytes();
        bytes.windows(2).take(MAX_LINE).map(|pair| [pair[0], pair[1]]).collect::<Vec<_>>()
    };
    let mut wanted = pairs(wanted);
    wanted.sort_unstable();
    let shared = |line: &str| {
        let line = pairs(line);
        let both = line.iter().filter(|pair| wanted.binary_search(pair).is_ok()).count();
        both * 100 / line.len().max(wanted.len()).max(1)
    };
    let scored = lines.iter().enumerate().map(|(at, line)| (shared(line), std::cmp::Reverse(at)));
    scored.max().filter(|(score, _)| *score >= 50).map(|(_, std::cmp::Reverse(at))| at)
}

fn shown(lines: &[&str], at: usize, count: usize) -> String {
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate().skip(at).take(count.clamp(1, SHOWN)) {
        let line = &line[..line.floor_char_boundary(MAX_LINE)];
        push_line(&mut text, format_args!("{:>6}\t{line}", index + 1));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = "fn main() {\n    let answer = 42;\n\n    println!(\"{answer}\");\n}\n";

    #[test]
    fn a_hint_names_the_mistake_and_the_place() {
        let cases = [
            ("let answer=42;", "only its white space differs from this:\n     2\t    let answer = 42;\n"),
            ("fn main() {\n\tlet answer = 42;", "only its white space"),
            ("let anser = 42;", "this is the most like it:\n     2\t    let answer = 42;\n"),
            ("     2\tlet answer = 42;", "it has line numbers in it"),
            ("entirely different", "nothing like it is there"),
            ("\n\n\n", "it is white space alone"),
        ];
        for (wanted, expected) in cases {
            let found = hint(BODY, wanted);
            assert!(found.starts_with(expected), "{wanted:?}: {found}");
        }
    }
}
