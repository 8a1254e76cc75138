# For the scripts that source it.

# again FILE COMMAND… runs a command whose output goes to FILE, and returns its exit code. Wine now and then ends a program before it has begun
# (docs/windows.md). So a command that has printed nothing at all is run again, twice at most, and fails after that.
again() {
  file=$1
  shift
  for try in 1 2 3; do
    code=0
    "$@" >"$file" 2>&1 || code=$?
    [ ! -s "$file" ] || return "$code"
    echo "wine: ended with $code and printed nothing, try $try: $*"
  done
  return 1
}
