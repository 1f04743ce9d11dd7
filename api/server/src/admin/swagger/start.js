// Requests of readers would come from the operators' address, which the interface does not answer.
const dark = matchMedia("(prefers-color-scheme: dark)");
const paint = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", paint);
paint();
SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  docExpansion: "list",
  filter: true,
  supportedSubmitMethods: [],
  validatorUrl: "none",
});
