# warren: completion for fish. Write it to ~/.config/fish/completions/warren.fish
function __warren_complete
    set -l words (commandline -opc) (commandline -ct)
    $words[1] __complete -- $words[2..-1] 2>/dev/null
end
complete -c warren -a '(__warren_complete)'
