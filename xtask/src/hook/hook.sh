PATTERNS=(
$patterns
)
command=$(jq -r '.tool_input.command // ""')
for number in "${!PATTERNS[@]}"; do
  if [[ $command =~ ${PATTERNS[$number]} ]]; then
    echo "rule $number says no" >&2
    exit 2
  fi
done
