# warren: completion for fish. Write it to ~/.config/fish/completions/warren.fish
function __warren_complete
    set -l words (commandline -opc) (commandline -ct | string unescape)
    set -l found ($words[1] __complete -- $words[2..-1] 2>/dev/null)
    if set -q found[1]
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c warren -f -a '(__warren_complete)'
