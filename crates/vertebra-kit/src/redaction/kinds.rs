//! What is looked for.

use std::fmt;

use super::checks;

/// Something that should not be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Sensitive {
    /// An access key of Amazon Web Services.
    AwsKey,
    /// A token of GitHub.
    GithubToken,
    /// A token of GitLab.
    GitlabToken,
    /// A token or web hook of Slack.
    SlackToken,
    /// A key of Stripe.
    StripeKey,
    /// A key of Anthropic.
    AnthropicKey,
    /// A key of `OpenAI`.
    OpenaiKey,
    /// A key or token of Google.
    GoogleKey,
    /// A token of npm.
    NpmToken,
    /// A token of the Python Package Index.
    PypiToken,
    /// A private key block, also one that is cut off.
    PrivateKey,
    /// A JSON web token.
    Jwt,
    /// What follows `Bearer` or `Authorization: Basic`.
    Authorization,
    /// What follows `password=` and the like.
    Password,
    /// Something random that follows a name with `key`, `token` or `secret` in it.
    NamedSecret,
    /// The password in `scheme://user:password@host`.
    UrlPassword,
    /// An e-mail address.
    Email,
    /// A card number with a valid check sum.
    CreditCard,
    /// A bank account number with a valid check sum.
    Iban,
    /// An IP address, version 4 or 6.
    IpAddress,
    /// A hardware address.
    MacAddress,
    /// A telephone number. Many other numbers look like one.
    Phone,
}

/// How a kind is recognised.
///
/// No pattern looks at what stands before it: that is what [`Rule::edge`] is for. What can go on for ever is at the end of a
/// pattern, so that a stream knows early that it has found something. What a check may refuse is bounded, or cannot hold
/// another beginning of the same pattern: else a hostile text would be searched again and again.
pub(crate) struct Rule {
    pub(crate) pattern: &'static str,
    pub(crate) edge: Edge,
    pub(crate) check: fn(&str) -> bool,
}

/// What may stand before a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edge {
    /// Anything.
    Any,
    /// No letter, digit or underscore.
    Word,
}

const fn word(pattern: &'static str) -> Rule {
    Rule { pattern, edge: Edge::Word, check: |_| true }
}

const fn checked(pattern: &'static str, check: fn(&str) -> bool) -> Rule {
    Rule { pattern, edge: Edge::Word, check }
}

/// What is in the first group is hidden, the rest is shown.
const fn value(pattern: &'static str, check: fn(&str) -> bool) -> Rule {
    Rule { pattern, edge: Edge::Any, check }
}

impl Sensitive {
    /// What opens doors.
    pub const SECRETS: [Self; 16] = [
        Self::AwsKey,
        Self::GithubToken,
        Self::GitlabToken,
        Self::SlackToken,
        Self::StripeKey,
        Self::AnthropicKey,
        Self::OpenaiKey,
        Self::GoogleKey,
        Self::NpmToken,
        Self::PypiToken,
        Self::PrivateKey,
        Self::Jwt,
        Self::Authorization,
        Self::Password,
        Self::NamedSecret,
        Self::UrlPassword,
    ];

    /// What tells of people. [`Phone`](Self::Phone) is not among them: ask for it by name.
    pub const PERSONAL: [Self; 5] = [Self::Email, Self::CreditCard, Self::Iban, Self::IpAddress, Self::MacAddress];

    /// Whether it opens doors, or tells of people.
    pub fn is_secret(self) -> bool {
        Self::SECRETS.contains(&self)
    }

    pub(crate) fn rules(self) -> Vec<Rule> {
        match self {
            Self::AwsKey => vec![word(r"(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}(?-u:\b)")],
            Self::GithubToken => vec![word(r"gh[pousr]_[A-Za-z0-9]{30,}"), word(r"github_pat_[A-Za-z0-9_]{22,}")],
            Self::GitlabToken => vec![word(r"gl(?:pat|ptt|dt|rt)-[A-Za-z0-9_-]{20,}")],
            Self::SlackToken => {
                vec![word(r"xox[abeoprs]-[A-Za-z0-9-]{10,}"), word(r"hooks\.slack\.com/services/[A-Za-z0-9/]{20,}")]
            }
            Self::StripeKey => vec![word(r"(?:(?:sk|rk|pk)_(?:live|test)|whsec)_[A-Za-z0-9]{16,}")],
            Self::AnthropicKey => vec![word(r"sk-ant-[A-Za-z0-9_-]{20,}")],
            Self::OpenaiKey => vec![word(r"sk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}")],
            Self::GoogleKey => vec![word(r"AIza[A-Za-z0-9_-]{35,}"), word(r"ya29\.[A-Za-z0-9_-]{20,}")],
            Self::NpmToken => vec![word(r"npm_[A-Za-z0-9]{36,}")],
            Self::PypiToken => vec![word(r"pypi-[A-Za-z0-9_-]{50,}")],
            Self::PrivateKey => vec![Rule { pattern: PRIVATE_KEY, edge: Edge::Any, check: |_| true }],
            Self::Jwt => vec![word(r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}")],
            Self::Authorization => vec![
                value(r"(?i:bearer)[ \t]{1,3}([A-Za-z0-9._~+/=-]{16,})", checks::a_value),
                value(r"(?i:authorization:[ \t]{0,3}basic)[ \t]{1,3}([A-Za-z0-9+/=]{8,})", checks::a_value),
            ],
            Self::Password => vec![
                value(
                    r#"(?i:password|passwd|passphrase)["']?[ \t]{0,3}(?::=|=>|[:=])[ \t]{0,3}["']([^"'\s]{3,})"#,
                    checks::a_value,
                ),
                value(
                    r#"(?i:password|passwd|passphrase)=([^\s"'&;,(){}<>\[$*][^\s"'&;,(){}<>]{2,}\(?)"#,
                    checks::not_code,
                ),
                value(r#"(?i:pwd)["']?[ \t]{0,3}(?::=|=>|[:=])[ \t]{0,3}["']([^"'\s]{3,})"#, checks::not_a_folder),
                value(r#"(?i:pwd)=([^\s"'&;,(){}<>\[$*][^\s"'&;,(){}<>]{2,})"#, checks::not_a_folder),
            ],
            Self::NamedSecret => vec![value(
                r#"(?i:key|token|secret)[A-Za-z0-9_]{0,24}["']?[ \t]{0,3}(?::=|=>|[:=])[ \t]{0,3}["']?([A-Za-z0-9+/_.~-]{12,}={0,2})"#,
                checks::random_value,
            )],
            Self::UrlPassword => vec![value(r"://[^\s:/@]{0,100}:([^\s/@]{1,200})@", checks::a_value)],
            Self::Email => vec![Rule {
                pattern: r"[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,4}[A-Za-z]{2,24}(?-u:\b)",
                edge: Edge::Any,
                check: |_| true,
            }],
            Self::CreditCard => vec![checked(r"[0-9](?:[ -]?[0-9]){12,18}(?-u:\b)", checks::luhn)],
            Self::Iban => {
                vec![checked(r"[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?-u:\b)", checks::iban)]
            }
            Self::IpAddress => vec![
                checked(r"[0-9]{1,3}(?:\.[0-9]{1,5}){3,7}(?-u:\b)", checks::ipv4),
                checked(r"[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?-u:\b)", checks::ipv6),
            ],
            Self::MacAddress => vec![word(r"[0-9A-Fa-f]{2}(?:[:-][0-9A-Fa-f]{2}){5}(?-u:\b)")],
            Self::Phone => vec![Rule {
                pattern: r"(?:\+[0-9]{1,3}[ .-]?)?(?:\([0-9]{2,4}\)[ .-]?)?[0-9]{2,4}(?:[ .-][0-9]{2,4}){2,4}(?-u:\b)",
                edge: Edge::Word,
                check: |_| true,
            }],
        }
    }
}

/// A variable of a program that is given a plain text, as tests and examples do: `let password = "correct-horse-battery"`.
/// What a rule finds by the name of the variable is shown.
pub(crate) const DECLARED: Rule = Rule {
    pattern: concat!(
        r"(?:let|const|var|val|static|final)[ \t]{1,3}(?:mut[ \t]{1,3})?",
        r"[A-Za-z0-9_]{0,24}(?i:password|passwd|passphrase|pwd)[A-Za-z0-9_]{0,24}",
        r#"(?:[ \t]{0,3}:[ \t]{0,3}&?[A-Za-z0-9_']{1,24})?[ \t]{0,3}=[ \t]{0,3}["']([a-z_ -]{3,64})["']"#,
    ),
    edge: Edge::Word,
    check: checks::words,
};

/// An unquoted value in a file that is known to be configuration, up to the end of the line or a comment. Elsewhere it cannot
/// be told from source code: `password: string`.
pub(crate) const CONFIGURED: Rule = value(
    concat!(
        r"(?i:password|passwd|passphrase|secret|token|(?:api|access|secret|private)[_.-]?key)",
        r#"["']?[ \t]{0,8}[:=][ \t]{0,8}([^\s"'#;(][^\s(]{2,}(?:[ \t]{1,8}[^\s#;(][^\s(]*)*\(?)"#,
    ),
    checks::configured,
);

/// Returns whether a file is configuration, by its name.
pub(crate) fn is_configuration(name: &str) -> bool {
    const ENDINGS: [&str; 13] = [
        ".cfg",
        ".cnf",
        ".conf",
        ".config",
        ".env",
        ".envrc",
        ".ini",
        ".npmrc",
        ".properties",
        ".pypirc",
        ".s3cfg",
        ".yaml",
        ".yml",
    ];
    let name = name.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    name == "credentials" || name.starts_with(".env.") || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// The first line, headers, lines of at least twenty characters, one that may be shorter, the last line. All but the first
/// may be missing, so that a block that was cut off is hidden, too. Line ends may be written as `\n`.
const PRIVATE_KEY: &str = concat!(
    r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----",
    r"(?:(?:\\[nr]|\s){1,4}[A-Za-z-]{3,20}: [^\n\\]{1,80}){0,4}",
    r"(?:(?:\\[nr]|\s){0,6}[A-Za-z0-9+/=]{20,})*",
    r"(?:(?:\\[nr]|\s){0,6}[A-Za-z0-9+/=]{0,76}(?:\\[nr]|\s){0,6}-----END [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----)?",
);

impl fmt::Display for Sensitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AwsKey => "aws-key",
            Self::GithubToken => "github-token",
            Self::GitlabToken => "gitlab-token",
            Self::SlackToken => "slack-token",
            Self::StripeKey => "stripe-key",
            Self::AnthropicKey => "anthropic-key",
            Self::OpenaiKey => "openai-key",
            Self::GoogleKey => "google-key",
            Self::NpmToken => "npm-token",
            Self::PypiToken => "pypi-token",
            Self::PrivateKey => "private-key",
            Self::Jwt => "jwt",
            Self::Authorization => "authorization",
            Self::Password => "password",
            Self::NamedSecret => "secret",
            Self::UrlPassword => "url-password",
            Self::Email => "email",
            Self::CreditCard => "credit-card",
            Self::Iban => "iban",
            Self::IpAddress => "ip-address",
            Self::MacAddress => "mac-address",
            Self::Phone => "phone",
        })
    }
}
