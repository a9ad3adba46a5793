//! Words that a shell makes several of: braces, and blanks that are written as `$IFS`.

/// The most words that one is spread into, and the longest that is.
const MOST_WORDS: usize = 64;
const MOST_BYTES: usize = 4096;

/// Whether a shell may make several words of this one.
pub(super) fn may_spread(word: &str) -> bool {
    word.contains("IFS") || (word.contains('{') && (word.contains(',') || word.contains("..")))
}

/// The words that become of these. What is too large for that is cut at every brace and comma.
pub(super) fn spread(words: &[String]) -> Vec<String> {
    let mut all = Vec::new();
    for word in words {
        let word = word.replace("${IFS}", " ").replace("$IFS", " ");
        for word in word.split_whitespace() {
            let mut spread = Vec::new();
            if word.len() <= MOST_BYTES {
                braces(word, &mut spread);
            }
            if spread.is_empty() || spread.len() > MOST_WORDS {
                spread = word.split(['{', '}', ',']).map(str::to_owned).collect();
            }
            all.extend(spread.into_iter().filter(|word| !word.is_empty()));
        }
    }
    all
}

fn braces(word: &str, found: &mut Vec<String>) {
    if found.len() > MOST_WORDS {
        return;
    }
    let Some((start, end, choices)) = first_choices(word) else { return found.push(word.to_owned()) };
    for choice in choices {
        braces(&format!("{}{choice}{}", &word[..start], &word[end..]), found);
    }
}

/// The first braces with something to choose in them: where they are, and what there is.
fn first_choices(word: &str) -> Option<(usize, usize, Vec<String>)> {
    let opens = word.match_indices('{').map(|(at, _)| at);
    opens.filter(|at| !word[..*at].ends_with('$')).find_map(|start| {
        let (mut depth, mut parts, mut from) = (0_usize, Vec::new(), start + 1);
        for (at, sign) in word[start..].match_indices(['{', '}', ',']).map(|(at, sign)| (start + at, sign)) {
            match sign {
                "{" => depth += 1,
                "}" if depth > 1 => depth -= 1,
                "," if depth > 1 => {}
                // A comma of ours, or the end.
                _ => {
                    parts.push(word[from..at].to_owned());
                    from = at + 1;
                }
            }
            if sign == "}" && from == at + 1 {
                let choices = if parts.len() > 1 { Some(parts) } else { range(&parts[0]) };
                return choices.map(|choices| (start, from, choices));
            }
        }
        None
    })
}

/// `a..c`
fn range(inner: &str) -> Option<Vec<String>> {
    let (first, last) = inner.split_once("..")?;
    let letter = |text: &str| text.chars().next().filter(|letter| letter.is_ascii() && text.len() == 1);
    let (first, last) = (letter(first)?, letter(last)?);
    Some((first.min(last)..=first.max(last)).map(String::from).collect())
}
