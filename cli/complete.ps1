# warren: completion for PowerShell, where it has not been tried.
# In $PROFILE: warren completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName warren -ScriptBlock {
  param($word, $ast, $cursor)
  $words = @($ast.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
  if (-not $word) { $words += '' }
  & warren __complete '--' @words 2>$null | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}
