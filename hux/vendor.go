package hux

import (
	"slices"
	"strings"
)

// vendors are words that name who makes a model, or the model. A word of a
// text counts by what it begins with before any digit too, as in gpt4o.
var vendors = []string{
	"ai21", "alibaba", "amazon", "anthropic", "azure", "baidu", "bedrock", "chatgpt", "claude", "codex", "cohere", "copilot",
	"databricks", "dbrx", "deepmind", "deepseek", "ernie", "gemini", "gemma", "glm", "google", "gpt", "granite", "grok", "groq", "haiku", "huggingface", "ibm", "jamba", "kimi", "llama", "meta", "microsoft",
	"minimax", "mistral", "mixtral", "moonshot", "nemotron", "nvidia", "olmo", "ollama", "openai", "openrouter", "opus", "palm",
	"perplexity", "phi", "qwen", "sonnet", "tongyi", "vertex", "xai", "yi", "zhipu",
}

// NamesVendor reports whether a text, such as a route, has a vendor's or a
// model's name in it.
func NamesVendor(text string) bool {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	return slices.ContainsFunc(words, func(w string) bool {
		before := w
		if digit := strings.IndexAny(w, "0123456789"); digit >= 0 {
			before = w[:digit]
		}
		return slices.Contains(vendors, w) || slices.Contains(vendors, before)
	})
}
