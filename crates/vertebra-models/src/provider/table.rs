//! The providers, in the order in which one is chosen when none is named.
//!
//! Addresses, names of keys and default models are those of `genai` and of the providers' own pages, November 2026.

use super::{Adapter, Provider, Takes};

/// Every provider that has a driver: those with a key first, then servers on this machine.
pub static PROVIDERS: &[Provider] = &[
    row("anthropic", "Anthropic", Adapter::Anthropic, "https://api.anthropic.com/v1/")
        .keys(&["ANTHROPIC_API_KEY"])
        .aka(&["claude"])
        .model("claude-sonnet-5-5")
        .known_by(&["claude-"])
        .images(),
    row("openai", "OpenAI", Adapter::OpenAIResp, "https://api.openai.com/v1/")
        .keys(&["OPENAI_API_KEY"])
        .aka(&["openai-responses"])
        .model("gpt-6.1-sol")
        .known_by(&["gpt-5", "gpt-6", "codex-"])
        .bases(&["OPENAI_BASE_URL"])
        .images(),
    row("gemini", "Google Gemini", Adapter::Gemini, "https://generativelanguage.googleapis.com/v1beta/")
        .keys(&["GEMINI_API_KEY", "GOOGLE_API_KEY"])
        .aka(&["google"])
        .model("gemini-3.8-flash")
        .known_by(&["gemini-"])
        .images(),
    row("openrouter", "OpenRouter", Adapter::OpenRouter, "https://openrouter.ai/api/v1/")
        .keys(&["OPENROUTER_API_KEY", "OPEN_ROUTER_API_KEY"])
        .aka(&["open-router"])
        .model("openrouter/auto")
        .images(),
    row("xai", "xAI", Adapter::Xai, "https://api.x.ai/v1/")
        .keys(&["XAI_API_KEY"])
        .aka(&["grok"])
        .model("grok-4.5")
        .known_by(&["grok-"])
        .images(),
    row("deepseek", "DeepSeek", Adapter::DeepSeek, "https://api.deepseek.com/v1/")
        .keys(&["DEEPSEEK_API_KEY"])
        .model("deepseek-flash")
        .known_by(&["deepseek-"])
        .images(),
    row("mistral", "Mistral", Adapter::Mistral, "https://api.mistral.ai/v1/")
        .keys(&["MISTRAL_API_KEY"])
        .model("mistral-large-latest")
        .known_by(&["mistral-", "codestral-", "devstral-", "magistral-", "ministral-"])
        .images(),
    row("groq", "Groq", Adapter::Groq, "https://api.groq.com/openai/v1/")
        .keys(&["GROQ_API_KEY"])
        .model("openai/gpt-oss-120b")
        .images(),
    row("kimi", "Kimi (moonshot.ai)", Adapter::Kimi, "https://api.moonshot.ai/v1/")
        .keys(&["KIMI_API_KEY"])
        .model("kimi-k2.7-code")
        .known_by(&["kimi-"])
        .images(),
    row("zai", "Z.ai", Adapter::OpenAI, "https://api.z.ai/api/paas/v4/")
        .keys(&["ZAI_API_KEY"])
        .aka(&["glm"])
        .model("glm-5.2")
        .known_by(&["glm-"])
        .images(),
    row("minimax", "MiniMax", Adapter::MiniMax, "https://api.minimax.io/anthropic/v1/")
        .keys(&["MINIMAX_API_KEY"])
        .model("MiniMax-M3")
        .known_by(&["MiniMax-", "minimax-"]),
    row("together", "Together AI", Adapter::Together, "https://api.together.xyz/v1/")
        .keys(&["TOGETHER_API_KEY"])
        .model("Qwen/Qwen3-235B-A22B-Instruct-2507-tput")
        .images(),
    row("fireworks", "Fireworks AI", Adapter::Fireworks, "https://api.fireworks.ai/inference/v1/")
        .keys(&["FIREWORKS_API_KEY"])
        .model("deepseek-v4p1-flash")
        .images(),
    row("cohere", "Cohere", Adapter::Cohere, "https://api.cohere.com/v1/")
        .keys(&["COHERE_API_KEY", "CO_API_KEY"])
        .model("command-a-03-2025")
        .known_by(&["command-"])
        .no_tools(),
    row("qwen-cloud", "Qwen Cloud", Adapter::QwenCloud, "https://dashscope-intl.aliyuncs.com/compatible-mode/v1/")
        .keys(&["QWEN_CLOUD_API_KEY", "DASHSCOPE_API_KEY"])
        .model("qwen3.8-max")
        .known_by(&["qwen3.8-"])
        .images(),
    row("aliyun", "Aliyun (China)", Adapter::Aliyun, "https://dashscope.aliyuncs.com/compatible-mode/v1/")
        .keys(&["ALIYUN_API_KEY"])
        .aka(&["dashscope"])
        .model("qwen-plus")
        .images(),
    row("moonshot", "Moonshot (China)", Adapter::Moonshot, "https://api.moonshot.cn/v1/")
        .keys(&["MOONSHOT_API_KEY"])
        .known_by(&["moonshot-"])
        .images(),
    row("bigmodel", "BigModel (China)", Adapter::BigModel, "https://open.bigmodel.cn/api/paas/v4/")
        .keys(&["BIGMODEL_API_KEY", "ZHIPUAI_API_KEY"])
        .aka(&["zhipu"])
        .images(),
    row("baidu", "Baidu Qianfan", Adapter::OpenAI, "https://qianfan.baidubce.com/v2/")
        .keys(&["BAIDU_API_KEY", "QIANFAN_API_KEY"])
        .aka(&["qianfan"])
        .model("ERNIE-4.0-8K"),
    row("mimo", "MiMo", Adapter::Mimo, "https://api.mimo.com/openai/v1/").keys(&["MIMO_API_KEY"]).known_by(&["mimo-"]),
    row("nebius", "Nebius", Adapter::Nebius, "https://api.studio.nebius.ai/v1/")
        .keys(&["NEBIUS_API_KEY"])
        .model("Qwen/Qwen3-235B-A22B")
        .images(),
    row("ollama-cloud", "Ollama Cloud", Adapter::OllamaCloud, "https://ollama.com/")
        .keys(&["OLLAMA_API_KEY"])
        .model("gpt-oss:120b")
        .images(),
    row("bedrock", "AWS Bedrock", Adapter::BedrockApi, "https://bedrock-runtime.us-east-1.amazonaws.com/")
        .keys(&["BEDROCK_API_KEY", "AWS_BEARER_TOKEN_BEDROCK"])
        .aka(&["bedrock-api"])
        .model("us.amazon.nova-2-lite-v1:0")
        .images(),
    row("vertex", "Google Vertex AI", Adapter::Vertex, "").keys(&["VERTEX_API_KEY"]).model("gemini-3.8-flash").images(),
    row("opencode-go", "OpenCode Go", Adapter::OpenCodeGo, "https://opencode.ai/zen/go/v1/")
        .keys(&["OPENCODE_GO_API_KEY"])
        .model("minimax-m2.5"),
    row("aihubmix", "AIHubMix", Adapter::Aihubmix, "https://aihubmix.com/v1/")
        .keys(&["AIHUBMIX_API_KEY"])
        .model("gpt-4o-mini")
        .images(),
    row("atlascloud", "Atlas Cloud", Adapter::AtlasCloud, "https://api.atlascloud.ai/v1/")
        .keys(&["ATLASCLOUD_API_KEY"])
        .model("qwen/qwen3.5-flash")
        .images(),
    row("requesty", "Requesty", Adapter::Requesty, "https://router.requesty.ai/v1/")
        .keys(&["REQUESTY_API_KEY"])
        .model("openai/gpt-4o-mini")
        .images(),
    row("api-route", "API Route", Adapter::ApiRoute, "https://global.api-route.com/v1/")
        .keys(&["API_ROUTE_API_KEY"])
        .model("gpt-6.1-sol")
        .images(),
    row("heabsy", "Heabsy", Adapter::Heabsy, "https://api.heabsy.com/v1/").keys(&["HEABSY_API_KEY"]).model("qwen38"),
    row("runcrate", "Runcrate", Adapter::Runcrate, "https://api.runcrate.ai/v1/")
        .keys(&["RUNCRATE_API_KEY"])
        .model("deepseek-ai/DeepSeek-V4.1-Flash"),
    row("cloudgpu", "CloudGPU", Adapter::CloudGpu, "https://cloudgpu.app/v1/")
        .keys(&["CLOUDGPU_API_KEY"])
        .model("deepseek-v4.1-flash"),
    row("github", "GitHub Models", Adapter::GithubCopilot, "https://models.github.ai/inference/")
        .keys(&["GITHUB_MODELS_TOKEN", "GITHUB_TOKEN"])
        .aka(&["github-models"])
        .model("openai/gpt-4.1-mini")
        .images(),
    row("openai-chat", "OpenAI (Chat Completions)", Adapter::OpenAI, "https://api.openai.com/v1/")
        .keys(&["OPENAI_API_KEY"])
        .model("gpt-4.1-mini")
        .known_by(&["gpt-4", "chatgpt-", "o1", "o3", "o4"])
        .bases(&["OPENAI_BASE_URL"])
        .images(),
    row(
        "gemini-interactions",
        "Google Gemini (Interactions)",
        Adapter::GeminiIx,
        "https://generativelanguage.googleapis.com/v1beta/",
    )
    .keys(&["GEMINI_API_KEY", "GOOGLE_API_KEY"])
    .model("gemini-4-argon")
    .images(),
    row("zai-coding", "Z.ai (coding plan)", Adapter::OpenAI, "https://api.z.ai/api/coding/paas/v4/")
        .keys(&["ZAI_CODING_API_KEY", "ZAI_API_KEY"])
        .model("glm-4.6"),
    row("compatible", "Any server like OpenAI's", Adapter::OpenAI, "")
        .keys(&["OPENAI_COMPATIBLE_API_KEY"])
        .aka(&["openai-compatible"])
        .images(),
    row("ollama", "Ollama", Adapter::Ollama, "http://127.0.0.1:11434/").bases(&["OLLAMA_HOST"]).port(11434).images(),
    row("llama.cpp", "llama.cpp", Adapter::OpenAI, "http://127.0.0.1:8080/v1/")
        .aka(&["llamacpp", "llama-server"])
        .port(8080)
        .images(),
    row("lmstudio", "LM Studio", Adapter::OpenAI, "http://127.0.0.1:1234/v1/").aka(&["lm-studio"]).port(1234).images(),
    row("vllm", "vLLM", Adapter::OpenAI, "http://127.0.0.1:8000/v1/").port(8000).images(),
    row("omlx", "oMLX", Adapter::Omlx, "http://127.0.0.1:8000/v1/")
        .keys(&["OMLX_API_KEY"])
        .bases(&["OMLX_ENDPOINT"])
        .local()
        .images(),
];

const fn row(name: &'static str, label: &'static str, adapter: Adapter, base_url: &'static str) -> Provider {
    Provider {
        name,
        aliases: &[],
        label,
        keys: &[],
        bases: &[],
        adapter,
        base_url,
        port: None,
        default_model: None,
        prefixes: &[],
        local: false,
        takes: Takes { tools: true, images: false },
    }
}

/// One word per column, so that a row shows what is special about it and nothing else.
impl Provider {
    const fn keys(mut self, keys: &'static [&'static str]) -> Self {
        self.keys = keys;
        self
    }

    const fn aka(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    const fn model(mut self, name: &'static str) -> Self {
        self.default_model = Some(name);
        self
    }

    const fn known_by(mut self, prefixes: &'static [&'static str]) -> Self {
        self.prefixes = prefixes;
        self
    }

    const fn bases(mut self, variables: &'static [&'static str]) -> Self {
        self.bases = variables;
        self
    }

    const fn local(mut self) -> Self {
        self.local = true;
        self
    }

    const fn port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self.local()
    }

    const fn no_tools(mut self) -> Self {
        self.takes.tools = false;
        self
    }

    const fn images(mut self) -> Self {
        self.takes.images = true;
        self
    }
}
