//! Files that a program writes under names which its command line does not spell out: what archives hold, what a compressed
//! file becomes, and what a download is called.

use super::programs::short_options;

/// What is written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unpacked {
    /// The files, or the folders in which they are made.
    pub(super) names: Vec<String>,
    /// Only the folders are known.
    pub(super) is_unsure: bool,
}

/// Endings of compressed files, which their content lacks.
const ENDINGS: &[&str] = &[".gz", ".xz", ".bz2", ".zst", ".lzma", ".lz4", ".Z"];

/// Returns what a program writes, if it unpacks or downloads.
pub(super) fn unpacked(program: &str, words: &[&str]) -> Option<Unpacked> {
    let has = |letter: char| short_options(words).any(|letters| letters.contains(letter));
    let long = |name: &str| words.contains(&name);
    let operands = || words.iter().skip(1).filter(|word| !word.starts_with('-'));
    let into = |options: &[&str]| {
        let told = words.windows(2).find(|pair| options.contains(&pair[0])).map(|pair| pair[1]);
        let attached = || {
            words.iter().find_map(|word| options.iter().find_map(|option| word.strip_prefix(option)?.strip_prefix('=')))
        };
        told.or_else(attached).unwrap_or(".").to_owned()
    };
    let all_in = |folder: String| Some(Unpacked { names: vec![folder], is_unsure: true });
    match program {
        "tar" | "gtar" | "bsdtar" => {
            let mode = words.get(1).copied().unwrap_or_default();
            let extracts =
                (!mode.starts_with("--") && mode.contains('x')) || has('x') || long("--extract") || long("--get");
            let shows = mode.contains('O') || has('O') || long("--to-stdout");
            if extracts && !shows { all_in(into(&["-C", "--directory"])) } else { None }
        }
        "unzip" if !['l', 'p', 't', 'v', 'Z', 'c'].into_iter().any(has) => all_in(into(&["-d"])),
        "7z" | "7za" | "7zz" | "unrar" if matches!(words.get(1), Some(&("x" | "e"))) => all_in(".".to_owned()),
        "cpio" if has('i') || long("--extract") => all_in(into(&["-D", "--directory"])),
        "gunzip" | "unxz" | "bunzip2" | "unzstd" | "gzip" | "xz" | "bzip2" | "zstd" => {
            if ['c', 'l', 't'].into_iter().any(has) || long("--stdout") {
                return None;
            }
            let plain = |word: &&str| ENDINGS.iter().find_map(|ending| word.strip_suffix(ending)).map(str::to_owned);
            let names: Vec<String> = operands().filter_map(plain).collect();
            (!names.is_empty()).then_some(Unpacked { names, is_unsure: false })
        }
        "curl" if !(has('O') || long("--remote-name") || long("--remote-name-all")) => None,
        "wget" if has('O') || long("--spider") => None,
        "curl" | "wget" => {
            let folder = into(&["-P", "--directory-prefix", "--output-dir"]);
            let last = |word: &&str| {
                let path = word.split_once("://").map_or(*word, |(_, rest)| rest).split(['?', '#']).next()?;
                let name = path.trim_matches(['\'', '"']).rsplit_once('/')?.1;
                (!name.is_empty()).then(|| format!("{folder}/{name}"))
            };
            let names: Vec<String> = operands().filter_map(last).collect();
            (!names.is_empty()).then_some(Unpacked { names, is_unsure: false })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unpacked_or_downloaded_is_found() {
        for (line, expected) in [
            ("tar xf a.tar", Some((".", true))),
            ("tar -C sub -xzf a.tgz", Some(("sub", true))),
            ("tar --extract --directory=sub -f a.tar", Some(("sub", true))),
            ("tar xOf a.tar", None),
            ("tar -xOf a.tar", None),
            ("tar czf a.tgz src", None),
            ("tar tf a.tar", None),
            ("unzip -o a.zip -d sub", Some(("sub", true))),
            ("unzip -l a.zip", None),
            ("gunzip -f x/locked.txt.gz", Some(("x/locked.txt", false))),
            ("zstd -d locked.txt.zst", Some(("locked.txt", false))),
            ("gzip -dc locked.txt.gz", None),
            ("gzip locked.txt", None),
            ("curl -sSLO https://example.org/a/locked.txt?x=1", Some(("./locked.txt", false))),
            ("curl https://example.org/locked.txt", None),
            ("wget -q https://example.org/locked.txt", Some(("./locked.txt", false))),
            ("wget -P sub https://example.org/locked.txt", Some(("sub/locked.txt", false))),
            ("wget -qO- https://example.org/locked.txt", None),
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            let found = unpacked(words[0], &words);
            let found = found.as_ref().map(|found| (found.names[0].as_str(), found.is_unsure));
            assert_eq!(found, expected, "{line}");
        }
    }
}
