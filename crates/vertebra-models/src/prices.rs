//! What model calls cost: a table with a date, which a user's own prices go before.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, LazyLock},
};

use toml_edit::{Document, Item, TableLike};
use vertebra::{ModelId, Usage};

/// What a million tokens may cost at most, in dollars: more is a slip of the pen.
const MOST_DOLLARS: f64 = 100_000.0;

static BUILT_IN: LazyLock<Prices> =
    LazyLock::new(|| Prices::parse(include_str!("prices.toml")).expect("the built-in prices are well formed"));

/// What this usage of this model costs by the built-in table, in millionths of a dollar, rounded up. `None` if its price
/// is not known, which is not the same as nothing.
pub fn cost(model: &ModelId, usage: &Usage) -> Option<u64> {
    BUILT_IN.cost(model, usage)
}

/// Whether the built-in table has a price for this model. One that costs nothing has one: it is nothing.
pub fn known(model: &ModelId) -> bool {
    BUILT_IN.find(model).is_some()
}

/// What models cost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prices {
    as_of: Option<Arc<str>>,
    same: BTreeMap<String, String>,
    providers: BTreeMap<String, BTreeMap<String, Price>>,
}

/// What a model costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    base: Rates,
    /// From more than so many tokens of input on.
    above: Option<(u64, Rates)>,
}

/// In millionths of a dollar for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rates {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

impl Price {
    /// What this usage costs, in millionths of a dollar, rounded up.
    pub fn of(&self, usage: &Usage) -> u64 {
        let rates = match self.above {
            Some((tokens, rates)) if usage.input_tokens > tokens => rates,
            _ => self.base,
        };
        let cached = usage.cache_read_tokens.saturating_add(usage.cache_write_tokens);
        let parts = [
            (usage.input_tokens.saturating_sub(cached), rates.input),
            (usage.output_tokens, rates.output),
            (usage.cache_read_tokens, rates.cache_read),
            (usage.cache_write_tokens, rates.cache_write),
        ];
        // Four products of two u64 may not fit an u128 together, if only just.
        let sum = parts.iter().fold(0_u128, |sum, (tokens, rate)| {
            sum.saturating_add(u128::from(*tokens).saturating_mul(u128::from(*rate)))
        });
        u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

impl Prices {
    /// The prices that come with this crate.
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    /// Prices in the shape of the built-in file: a table per provider, a line per model.
    pub fn parse(text: &str) -> Result<Self, PriceError> {
        let document = Document::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            PriceError { line: line_of(text, at), message: error.message().to_owned() }
        })?;
        Reader { text }.prices(document.as_table())
    }

    /// These prices, and behind them the others.
    #[must_use]
    pub fn before(mut self, others: &Self) -> Self {
        self.as_of = self.as_of.or_else(|| others.as_of.clone());
        for (provider, same) in &others.same {
            self.same.entry(provider.clone()).or_insert_with(|| same.clone());
        }
        for (provider, models) in &others.providers {
            let own = self.providers.entry(provider.clone()).or_default();
            // A pattern of one's own stands before a whole name of the others.
            let hidden: Vec<String> = own.keys().filter_map(|key| key.strip_suffix('*')).map(str::to_owned).collect();
            for (model, price) in models {
                if !hidden.iter().any(|begin| model.starts_with(begin)) {
                    own.entry(model.clone()).or_insert(*price);
                }
            }
        }
        self
    }

    /// The day on which the prices were last compared with those of the providers.
    pub fn as_of(&self) -> Option<&str> {
        self.as_of.as_deref()
    }

    /// The price of a model, if it is known.
    pub fn find(&self, model: &ModelId) -> Option<&Price> {
        let own = self.providers.get(&*model.provider);
        let same = || self.same.get(&*model.provider).and_then(|same| self.providers.get(same));
        [own, same()].into_iter().flatten().find_map(|models| in_table(models, &model.name))
    }

    /// What this usage of this model costs, in millionths of a dollar, rounded up; `None` if its price is not known.
    pub fn cost(&self, model: &ModelId, usage: &Usage) -> Option<u64> {
        self.find(model).map(|price| price.of(usage))
    }

    /// Every model that has a price: provider and name.
    pub fn models(&self) -> impl Iterator<Item = (&str, &str)> {
        self.providers.iter().flat_map(|(provider, models)| models.keys().map(|model| (&**provider, &**model)))
    }
}

fn in_table<'p>(models: &'p BTreeMap<String, Price>, name: &str) -> Option<&'p Price> {
    let whole = models.get(name).or_else(|| models.get(undated(name)));
    whole.or_else(|| {
        let patterns = models.iter().filter_map(|(key, price)| Some((key.strip_suffix('*')?, price)));
        let fitting = patterns.filter(|(begin, _)| name.starts_with(begin));
        fitting.max_by_key(|(begin, _)| begin.len()).map(|(_, price)| price)
    })
}

/// The name without the date of a release, or `-latest`, at its end.
fn undated(name: &str) -> &str {
    let is = |part: &str, digits: usize| part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(name) = name.strip_suffix("-latest") {
        return name;
    }
    let mut parts = name.rsplitn(4, '-');
    let last: [&str; 3] = [(); 3].map(|()| parts.next().unwrap_or_default());
    let cut = match last {
        [day, _, _] if is(day, 8) => 8 + 1,
        [day, month, year] if is(day, 2) && is(month, 2) && is(year, 4) => 10 + 1,
        _ => 0,
    };
    name.get(..name.len().saturating_sub(cut)).unwrap_or(name)
}

/// What is wrong with a file of prices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceError {
    /// In which line, if that is known.
    pub line: Option<usize>,
    /// What it is.
    pub message: String,
}

impl std::error::Error for PriceError {}

impl fmt::Display for PriceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "prices, line {line}: {}", self.message),
            None => write!(f, "prices: {}", self.message),
        }
    }
}

fn line_of(text: &str, at: usize) -> Option<usize> {
    text.get(..at).map(|before| before.matches('\n').count() + 1)
}

struct Reader<'t> {
    text: &'t str,
}

impl Reader<'_> {
    fn wrong(&self, item: &Item, message: impl Into<String>) -> PriceError {
        let line = item.span().and_then(|span| line_of(self.text, span.start));
        PriceError { line, message: message.into() }
    }

    fn prices(&self, table: &dyn TableLike) -> Result<Prices, PriceError> {
        let mut prices = Prices::default();
        for (key, item) in table.iter() {
            match (key, item.as_table_like()) {
                ("as_of", _) => {
                    let day = item.as_str().filter(|day| day.parse::<jiff::civil::Date>().is_ok());
                    let wrong = || self.wrong(item, "`as_of` is a day, as in \"2026-11-15\"");
                    prices.as_of = Some(day.ok_or_else(wrong)?.into());
                }
                ("same", Some(table)) => {
                    for (provider, other) in table.iter() {
                        let wrong = || self.wrong(other, format!("`{provider}` needs the name of a provider"));
                        let other = other.as_str().ok_or_else(wrong)?;
                        prices.same.insert(provider.to_owned(), other.to_owned());
                    }
                }
                (provider, Some(table)) => {
                    let models = table.iter().map(|(model, item)| Ok((model.to_owned(), self.price(model, item)?)));
                    prices.providers.insert(provider.to_owned(), models.collect::<Result<_, PriceError>>()?);
                }
                (key, None) => {
                    return Err(
                        self.wrong(item, format!("`{key}` must be a table of models: write [{key}] above them"))
                    );
                }
            }
        }
        Ok(prices)
    }

    fn price(&self, model: &str, item: &Item) -> Result<Price, PriceError> {
        let wrong = || self.wrong(item, format!("`{model}` needs prices, as in {{ input = 3, output = 15 }}"));
        let table = item.as_table_like().ok_or_else(wrong)?;
        let base = self.rates(model, item, table, &["above"])?;
        let above = match table.get("above") {
            None => None,
            Some(item) => {
                let wrong = || self.wrong(item, format!("`above` of `{model}` needs `tokens` and prices"));
                let table = item.as_table_like().ok_or_else(wrong)?;
                let tokens = table.get("tokens").and_then(Item::as_integer);
                let tokens = tokens.and_then(|tokens| u64::try_from(tokens).ok()).ok_or_else(wrong)?;
                Some((tokens, self.rates(model, item, table, &["tokens"])?))
            }
        };
        Ok(Price { base, above })
    }

    fn rates(&self, model: &str, item: &Item, table: &dyn TableLike, besides: &[&str]) -> Result<Rates, PriceError> {
        const NAMES: [&str; 4] = ["input", "output", "cache_read", "cache_write"];
        if let Some((key, _)) = table.iter().find(|(key, _)| !NAMES.contains(key) && !besides.contains(key)) {
            let message = format!("`{model}` has no price called `{key}`; there are {}", NAMES.join(", "));
            return Err(self.wrong(item, message));
        }
        let rate = |name: &str| table.get(name).map(|item| self.rate(model, name, item)).transpose();
        let needed = |name: &str| rate(name)?.ok_or_else(|| self.wrong(item, format!("`{model}` needs `{name}`")));
        let input = needed("input")?;
        Ok(Rates {
            input,
            output: needed("output")?,
            cache_read: rate("cache_read")?.unwrap_or(input),
            cache_write: rate("cache_write")?.unwrap_or(input),
        })
    }

    fn rate(&self, model: &str, name: &str, item: &Item) -> Result<u64, PriceError> {
        #[expect(clippy::cast_precision_loss, reason = "what is not exact is far too much anyway")]
        let dollars = item.as_float().or_else(|| item.as_integer().map(|whole| whole as f64));
        let dollars = dollars.filter(|dollars| (0.0..=MOST_DOLLARS).contains(dollars));
        let wrong = || self.wrong(item, format!("`{name}` of `{model}` is dollars per million tokens, as in 0.25"));
        let micros = (dollars.ok_or_else(wrong)? * 1e6).round();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 10^11, and whole")]
        Ok(micros as u64)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn model(name: &str) -> ModelId {
        let (provider, name) = name.split_once(':').expect("provider:name");
        ModelId::new(provider, name)
    }

    #[test]
    fn each_kind_of_token_has_its_price() {
        let usage = Usage {
            input_tokens: 1_000_000,
            output_tokens: 100_000,
            cache_read_tokens: 600_000,
            cache_write_tokens: 100_000,
            cost_micros: 0,
        };
        // 300 000 at $4, 100 000 at $20, 600 000 at $0.20, 100 000 at $5.
        assert_eq!(cost(&model("anthropic:claude-opus-5-5"), &usage), Some(1_200_000 + 2_000_000 + 120_000 + 500_000));
    }

    #[test]
    fn a_price_that_is_not_known_is_not_nothing() {
        let usage = Usage::tokens(10, 10);
        for unknown in ["anthropic:claude-of-tomorrow", "nobody:gpt-4o", "openai:gpt-4o-mini-audio"] {
            assert_eq!((cost(&model(unknown), &usage), known(&model(unknown))), (None, false), "{unknown}");
        }
        assert_eq!(cost(&model("ollama:llama3.2:3b"), &usage), Some(0));
        assert!(known(&model("ollama:llama3.2:3b")));
    }

    #[test]
    fn a_dated_release_costs_what_its_model_costs_and_a_sister_does_not() {
        let find = |name| Prices::built_in().find(&model(name));
        let opus = find("anthropic:claude-opus-4-5");
        assert!(opus.is_some());
        assert_eq!(find("anthropic:claude-opus-4-5-20251101"), opus);
        assert_ne!(find("anthropic:claude-opus-4-20250514"), opus);
        assert_eq!(find("openai:gpt-4o-2024-11-20"), find("openai:gpt-4o"));
        assert_eq!(find("openai-chat:gpt-4o"), find("openai:gpt-4o"));
        assert_eq!(find("mistral:codestral-latest"), find("mistral:codestral"));
        assert_eq!(find("openai:gpt-4o-tiny"), None);
    }

    #[test]
    fn a_long_request_costs_more_as_a_whole() {
        let haiku = model("anthropic:claude-haiku-5-5");
        assert_eq!(cost(&haiku, &Usage::tokens(100_000, 0)), Some(10_000));
        assert_eq!(cost(&haiku, &Usage::tokens(200_000, 0)), Some(100_000));
    }

    #[test]
    fn parts_of_a_millionth_are_rounded_up() {
        assert_eq!(cost(&model("openai:gpt-5-nano"), &Usage::tokens(1, 0)), Some(1));
    }

    #[test]
    fn prices_of_ones_own_go_before_the_built_in_ones() {
        let own = "[anthropic]\n\"claude-opus-*\" = { input = 1, output = 1 }\n[house]\nm = { input = 2, output = 2 }";
        let prices = Prices::parse(own).expect("prices").before(Prices::built_in());
        let usage = Usage::tokens(1_000_000, 0);
        assert_eq!(prices.cost(&model("anthropic:claude-opus-5-5"), &usage), Some(1_000_000));
        assert_eq!(prices.cost(&model("house:m"), &usage), Some(2_000_000));
        assert_eq!(prices.cost(&model("anthropic:claude-sonnet-4-6"), &usage), Some(3_000_000));
        assert_eq!(prices.as_of(), Prices::built_in().as_of());
    }

    #[test]
    fn a_wrong_price_is_named_with_its_line() {
        let told = |text| Prices::parse(text).expect_err("wrong").to_string();
        let cases = [
            "as_of = \"soon\"",
            "\n[a]\nm = 3",
            "[a]\nm = { input = 1 }",
            "[a]\nm = { input = -1, output = 1 }",
            "[a]\nm = { input = 1, output = 1, cached = 1 }",
            "[a]\nm = { input = 1, output = 1, above = { input = 2, output = 2 } }",
            "x = 1",
            "[a",
        ];
        insta::assert_snapshot!(cases.map(told).join("\n"), @r#"
        prices, line 1: `as_of` is a day, as in "2026-11-15"
        prices, line 3: `m` needs prices, as in { input = 3, output = 15 }
        prices, line 2: `m` needs `output`
        prices, line 2: `input` of `m` is dollars per million tokens, as in 0.25
        prices, line 2: `m` has no price called `cached`; there are input, output, cache_read, cache_write
        prices, line 2: `above` of `m` needs `tokens` and prices
        prices, line 1: `x` must be a table of models: write [x] above them
        prices, line 1: unclosed table, expected `]`
        "#);
    }

    #[test]
    fn the_built_in_table_has_a_date() {
        assert!(Prices::built_in().as_of().is_some());
    }

    #[test]
    fn a_bill_beyond_all_numbers_is_the_largest_of_them() {
        let all = u64::MAX;
        let usage = Usage {
            input_tokens: all,
            output_tokens: all,
            cache_read_tokens: all,
            cache_write_tokens: all,
            cost_micros: 0,
        };
        assert_eq!(cost(&model("anthropic:claude-opus-4"), &usage), Some(all));
    }

    fn usages() -> impl Strategy<Value = Usage> {
        // So large that the bill is beyond all numbers, so small that their own sums are not.
        let tokens = || prop_oneof![0..2_000_000_u64, 0..1_u64 << 60];
        (tokens(), tokens(), tokens(), tokens()).prop_map(|(plain, output_tokens, cache_read, cache_write)| Usage {
            input_tokens: plain + cache_read + cache_write,
            output_tokens,
            cache_read_tokens: cache_read,
            cache_write_tokens: cache_write,
            cost_micros: 0,
        })
    }

    proptest! {
        /// More of anything never costs less, whatever the numbers: up to a bill that no number can hold.
        #[test]
        fn more_never_costs_less(one in usages(), more in usages(), at in any::<prop::sample::Index>()) {
            let models: Vec<_> = Prices::built_in().models().collect();
            let (provider, name) = models[at.index(models.len())];
            let model = ModelId::new(provider, name);
            let (less, more) = (cost(&model, &one), cost(&model, &(one + more)));
            prop_assert!(less.is_some() && less <= more);
        }
    }
}
