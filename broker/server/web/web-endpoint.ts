/** Under which name a broker's web port stands among its endpoints. No listener of clients may have it. */
export const WEB_ENDPOINT = 'HTTP'
