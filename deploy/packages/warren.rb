# A formula for a tap (docs.brew.sh/Formula-Cookbook). deploy/packages.sh fills in version, addresses and checksums. Nobody has published it.
class Warren < Formula
  desc "Browser profiles, each behind its proxy"
  homepage "@URL@"
  version "@VERSION@"
  license :cannot_represent # none is chosen yet

  on_macos do
    on_arm do
      url "@URL@/warren-@VERSION@-darwin-arm64.tar.gz"
      sha256 "@SUM_darwin_arm64@"
    end
    on_intel do
      url "@URL@/warren-@VERSION@-darwin-amd64.tar.gz"
      sha256 "@SUM_darwin_amd64@"
    end
  end

  on_linux do
    on_arm do
      url "@URL@/warren-@VERSION@-linux-arm64.tar.gz"
      sha256 "@SUM_linux_arm64@"
    end
    on_intel do
      url "@URL@/warren-@VERSION@-linux-amd64.tar.gz"
      sha256 "@SUM_linux_amd64@"
    end
  end

  def install
    bin.install "warren"
    man1.install Dir["man/man1/*"]
    bash_completion.install "completions/warren.bash" => "warren"
    zsh_completion.install "completions/_warren"
    fish_completion.install "completions/warren.fish"
  end

  service do
    run [opt_bin/"warren", "serve"]
    keep_alive successful_exit: false
    log_path var/"log/warren.log"
    error_log_path var/"log/warren.log"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/warren --version")
  end
end
