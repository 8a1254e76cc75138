#compdef warren
# warren: completion for zsh. Write it to a file named _warren in a folder of $fpath, or in ~/.zshrc, behind compinit:
# source <(warren completion zsh)
_warren() {
  local -a found
  found=("${(@f)$("${(Q)words[1]}" __complete -- "${(@Q)words[2,CURRENT-1]}" "$IPREFIX${(Q)PREFIX}" 2>/dev/null)}")
  if [[ -n "${found[1]}" ]]; then
    compadd -- "${found[@]}"
  else
    _files
  fi
}
if [[ "${funcstack[1]}" == _warren ]]; then # $fpath's file is read by the first completion, which is to be answered too
  _warren "$@"
else
  compdef _warren warren
fi
