// An identity provider that nobody here wrote, as that of a manufacturer: authorization code with
// PKCE, refresh tokens that are good for one use. It prints its address and serves until its input ends.
//
// Usage: node provider.mjs REDIRECT_URI CLIENT_ID CLIENT_SECRET
import { createServer } from "node:http";
import { Provider } from "oidc-provider";

const [redirect, id, secret] = process.argv.slice(2);

process.stdin.on("end", () => process.exit()).resume();

const server = createServer().listen(0, "127.0.0.1", () => {
  const address = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(address, {
    clients: [
      {
        client_id: id,
        client_secret: secret,
        redirect_uris: [redirect],
        grant_types: ["authorization_code", "refresh_token"],
        token_endpoint_auth_method: "client_secret_basic",
      },
    ],
    // Its own pages: any name and password log in, then access is allowed.
    features: { devInteractions: { enabled: true } },
    pkce: { required: () => true },
    rotateRefreshToken: true,
    ttl: { AccessToken: 3600, RefreshToken: 86400 },
  });
  server.on("request", provider.callback());
  console.log(address);
});
