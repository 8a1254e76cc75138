#compdef warren
# warren: completion for zsh. Write it to a file named _warren in a folder of $fpath.
_warren() {
  local -a found
  found=("${(@f)$("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  [[ -n "$found" ]] && compadd -- "${found[@]}" || _files
}
compdef _warren warren
