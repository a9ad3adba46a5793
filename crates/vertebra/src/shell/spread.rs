//! Words that a shell makes several of: braces, and blanks that are written as `$IFS`.

/// The most words that one is spread into.
const MOST_WORDS: usize = 64;

/// How many steps it may take for each byte of a command: what would take more is not worth it.
const STEPS_PER_BYTE: usize = 64;

/// Whether a shell may make several words of this one.
pub(super) fn may_spread(word: &str) -> bool {
    word.contains("IFS") || (word.contains('{') && (word.contains(',') || word.contains("..")))
}

/// What may become of these words: as a shell reads them, if that can be told, and cut at every brace, comma and blank. Quotes
/// are gone from them, so either may be wrong.
pub(super) fn spread(words: &[String]) -> Vec<Vec<String>> {
    let blank = |word: &str| word.replace("${IFS}", " ").replace("$IFS", " ");
    let mut left = STEPS_PER_BYTE * words.iter().map(|word| word.len() + 16).sum::<usize>();
    let mut read = Some(Vec::new());
    for word in words {
        let mut found = Vec::new();
        let whole = braces(word, &mut found, &mut left);
        read = read.filter(|_| whole.is_ok());
        if let Some(read) = &mut read {
            // Only what stands for a blank divides a word: other blanks were quoted.
            for word in found {
                let parts = blank(&word.replace(' ', "\0"));
                read.extend(parts.split_whitespace().map(|part| part.replace('\0', " ")));
            }
        }
    }
    let cut = |word: &String| blank(word).replace(['{', '}', ','], " ");
    let cut = words.iter().map(cut).collect::<Vec<_>>().join(" ").split_whitespace().map(str::to_owned).collect();
    read.into_iter().chain([cut]).collect()
}

/// It is not worth it.
struct TooMuch;

fn take(steps: usize, left: &mut usize) -> Result<(), TooMuch> {
    *left = left.checked_sub(steps).ok_or(TooMuch)?;
    Ok(())
}

fn braces(word: &str, found: &mut Vec<String>, left: &mut usize) -> Result<(), TooMuch> {
    take(word.len(), left)?;
    let Some((start, end, choices)) = first_choices(word, left)? else {
        found.push(word.to_owned());
        return if found.len() > MOST_WORDS { Err(TooMuch) } else { Ok(()) };
    };
    choices.iter().try_for_each(|choice| braces(&format!("{}{choice}{}", &word[..start], &word[end..]), found, left))
}

/// The first braces with something to choose in them: where they are, and what there is.
type Choices = (usize, usize, Vec<String>);

fn first_choices(word: &str, left: &mut usize) -> Result<Option<Choices>, TooMuch> {
    for start in word.match_indices('{').map(|(at, _)| at).filter(|at| !word[..*at].ends_with('$')) {
        let (mut depth, mut parts, mut from) = (0_usize, Vec::new(), start + 1);
        for (at, sign) in word[start..].match_indices(['{', '}', ',']).map(|(at, sign)| (start + at, sign)) {
            take(1, left)?;
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
                if let Some(choices) = choices {
                    return Ok(Some((start, from, choices)));
                }
                break;
            }
        }
    }
    Ok(None)
}

/// `a..c`, `a..c..2`
fn range(inner: &str) -> Option<Vec<String>> {
    let mut ends =
        inner.splitn(3, "..").map(|text| text.chars().next().filter(|letter| letter.len_utf8() == text.len()));
    let (first, last) = (ends.next()??, ends.next()??);
    (first.is_ascii() && last.is_ascii()).then(|| (first.min(last)..=first.max(last)).map(String::from).collect())
}
