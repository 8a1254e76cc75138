// Command s3gateway serves a folder as S3, for tests: Versity's gateway (github.com/versity/versitygw), with its posix backend and
// one account. It is a module of its own, so that its many dependencies are nobody else's. The gateway's own command would build
// a third more packages: backends and SDKs that no test needs.
//
// Arguments: the folder whose folders are the buckets, a folder for metadata, and the path of a Unix socket. The keys are in
// S3_ACCESS and S3_SECRET.
package main

import (
	"log"
	"os"

	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/s3api"
	"github.com/versity/versitygw/s3api/middlewares"
)

func main() { log.Fatal(serve(os.Args[1], os.Args[2], os.Args[3])) }

func serve(files, sidecar, socket string) error {
	access, secret := os.Getenv("S3_ACCESS"), os.Getenv("S3_SECRET")
	metadata, err := meta.NewSideCar(sidecar)
	if err != nil {
		return err
	}
	backend, err := posix.New(files, metadata, posix.PosixOpts{SideCarDir: sidecar})
	if err != nil {
		return err
	}
	accounts := auth.NewIAMServiceSingle(auth.Account{Access: access, Secret: secret, Role: auth.RoleAdmin})
	server, err := s3api.New(backend, middlewares.RootUserConfig{Access: access, Secret: secret}, "us-east-1", accounts, nil, nil, nil, nil,
		s3api.WithQuiet(), s3api.WithKeepAlive(), s3api.WithConcurrencyLimiter(1000, 1000))
	if err != nil {
		return err
	}
	return server.ServeMultiPort([]string{socket})
}
